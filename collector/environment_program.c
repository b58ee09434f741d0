/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Versions of programs, without running them: the build-id of the ELF notes, and the package that owns
 * the file by Debian's package database.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hg_base.h"
#include "base/hg_file.h"
#include "collector/environment_private.h"

#define PHDRS_MAX	128
#define NOTES_BYTES_MAX (64U << 10)

static int bytes_at(int fd, void *buf, size_t size, uint64_t offset)
{
	if (offset > INT64_MAX)
		return -EINVAL;
	return pread(fd, buf, size, (off_t)offset) == (ssize_t)size ? 0 : -EINVAL;
}

static bool notes_search(const unsigned char *p, size_t size, size_t align, char *hex,
			 size_t hex_size)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name_bytes, desc_bytes;
		const unsigned char *desc;

		memcpy(&note, p, sizeof(note));
		name_bytes = ((uint64_t)note.n_namesz + align - 1) & ~(uint64_t)(align - 1);
		desc_bytes = ((uint64_t)note.n_descsz + align - 1) & ~(uint64_t)(align - 1);
		if (name_bytes > size - sizeof(note) ||
		    note.n_descsz > size - sizeof(note) - name_bytes)
			return false;
		desc = p + sizeof(note) + name_bytes;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(p + sizeof(note), "GNU", 4) && note.n_descsz &&
		    2 * (size_t)note.n_descsz < hex_size) {
			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(hex + 2 * i, 3, "%02x", desc[i]);
			return true;
		}
		if (desc_bytes > size - sizeof(note) - name_bytes)
			return false;
		p = desc + desc_bytes;
		size -= sizeof(note) + name_bytes + desc_bytes;
	}
	return false;
}

int env_build_id_read(int fd, char *hex, size_t size)
{
	hg_autofree unsigned char *notes = malloc(NOTES_BYTES_MAX);
	Elf64_Ehdr ehdr;

	if (!notes)
		return -ENOMEM;
	if (bytes_at(fd, &ehdr, sizeof(ehdr), 0) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	for (unsigned int i = 0; i < HG_MIN(ehdr.e_phnum, PHDRS_MAX); i++) {
		Elf64_Phdr phdr;

		if (ehdr.e_phoff > INT64_MAX / 2 ||
		    bytes_at(fd, &phdr, sizeof(phdr), ehdr.e_phoff + i * sizeof(phdr)))
			return -ENOEXEC;
		if (phdr.p_type != PT_NOTE || phdr.p_filesz > NOTES_BYTES_MAX ||
		    bytes_at(fd, notes, phdr.p_filesz, phdr.p_offset))
			continue;
		if (notes_search(notes, phdr.p_filesz, phdr.p_align == 8 ? 8 : 4, hex, size))
			return 0;
	}
	return -ENODATA;
}

/* --- packages --- */

/* Where /bin is a link to /usr/bin a list may still say /bin/x. */
static bool same_file(const char *listed, const char *path)
{
	if (!strcmp(listed, path))
		return true;
	return !strncmp(path, "/usr/", 5) && !strcmp(listed, path + 4);
}

static void list_search(const char *dir, const char *name, struct env_program *programs,
			size_t count)
{
	char path[PATH_MAX];
	hg_autofclose FILE *f = NULL;
	hg_autofree char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return;
	f = fopen(path, "re");
	if (!f)
		return;
	while ((n = getline(&line, &size, f)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		for (size_t i = 0; i < count; i++) {
			struct env_program *p = &programs[i];

			if (p->ours && !p->package[0] && same_file(line, p->path))
				/* "libc6:amd64.list": the name ends at the architecture */
				snprintf(p->package, sizeof(p->package), "%.*s",
					 (int)strcspn(name, ":") < (int)(strlen(name) - 5)
						 ? (int)strcspn(name, ":")
						 : (int)(strlen(name) - 5),
					 name);
		}
	}
}

/* The status file is paragraphs of "Field: value" lines. */
static void versions_find(const char *dpkg_dir, struct env_program *programs, size_t count)
{
	char path[PATH_MAX], package[sizeof(programs->package)] = "";
	hg_autofclose FILE *f = NULL;
	hg_autofree char *line = NULL;
	size_t size = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/status", dpkg_dir);
	f = fopen(path, "re");
	if (!f)
		return;
	while ((n = getline(&line, &size, f)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "Package: ", 9))
			snprintf(package, sizeof(package), "%s", line + 9);
		if (strncmp(line, "Version: ", 9))
			continue;
		for (size_t i = 0; i < count; i++) {
			if (package[0] && !strcmp(programs[i].package, package))
				snprintf(programs[i].version, sizeof(programs[i].version), "%s",
					 line + 9);
		}
	}
}

void env_packages_find_in(const char *dpkg_dir, struct env_program *programs, size_t count)
{
	char info[PATH_MAX];
	hg_autoclosedir DIR *dir = NULL;
	struct dirent *entry;

	snprintf(info, sizeof(info), "%s/info", dpkg_dir);
	dir = opendir(info);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);

		if (n > 5 && !strcmp(entry->d_name + n - 5, ".list"))
			list_search(info, entry->d_name, programs, count);
	}
	versions_find(dpkg_dir, programs, count);
}

void env_packages_find(struct env_program *programs, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= programs[i].ours;
	if (any)
		env_packages_find_in("/var/lib/dpkg", programs, count);
}

/* --- programs --- */

static bool link_read(const char *path, char *buf, size_t size)
{
	ssize_t n = readlink(path, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n > 0 && (size_t)n < size - 1;
}

void env_program_of_process(pid_t tgid, struct env_program *out)
{
	char path[64], theirs[64], ours[64];
	hg_autoclose int fd = -1;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", tgid);
	out->ours = link_read(path, theirs, sizeof(theirs)) &&
		    link_read("/proc/self/ns/mnt", ours, sizeof(ours)) && !strcmp(theirs, ours);
	snprintf(path, sizeof(path), "/proc/%d/exe", tgid);
	if (!link_read(path, out->path, sizeof(out->path)))
		out->path[0] = '\0';
	/* Through the link of /proc it is the very file that runs, also when its name is gone. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && env_build_id_read(fd, out->build_id, sizeof(out->build_id)))
		out->build_id[0] = '\0';
}

void env_program_of_command(const char *name, struct env_program *out)
{
	hg_autofree char *dirs = strdup(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	char path[PATH_MAX], real[PATH_MAX], *save = NULL;
	hg_autoclose int fd = -1;
	struct stat st;

	memset(out, 0, sizeof(*out));
	snprintf(path, sizeof(path), "%s", name);
	if (!strchr(name, '/') && dirs) {
		for (char *d = strtok_r(dirs, ":", &save); d; d = strtok_r(NULL, ":", &save)) {
			snprintf(path, sizeof(path), "%s/%s", d, name);
			if (!access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
				break;
		}
	}
	if (!realpath(path, real))
		return;
	snprintf(out->path, sizeof(out->path), "%s", real);
	out->ours = true;
	fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && env_build_id_read(fd, out->build_id, sizeof(out->build_id)))
		out->build_id[0] = '\0';
}

void env_set_program(json_t *object, const struct env_program *program)
{
	env_set_string(object, "program", program->path);
	env_set_string(object, "build_id", program->build_id);
	env_set_string(object, "package", program->package);
	env_set_string(object, "package_version", program->version);
}
