/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a fuzzer's entry on files, or on every file of a folder: for builds without libFuzzer. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path, size_t *count)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t size;

	if (!file || fstat(fileno(file), &st)) {
		perror(path);
		if (file)
			fclose(file);
		return -1;
	}
	/* Exactly as large as the input, so that ASan sees the first byte read beyond it. */
	data = malloc((size_t)st.st_size ? (size_t)st.st_size : 1);
	size = data ? fread(data, 1, (size_t)st.st_size, file) : 0;
	fclose(file);
	if (!data || size != (size_t)st.st_size) {
		fprintf(stderr, "%s: cannot read it whole\n", path);
		free(data);
		return -1;
	}
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	++*count;
	return 0;
}

static int run_folder(const char *path, DIR *dir, size_t *count)
{
	char file[PATH_MAX];
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) >= (int)sizeof(file))
			return -1;
		if (run_file(file, count))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	size_t count = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		int err = dir ? run_folder(argv[i], dir, &count) : run_file(argv[i], &count);

		if (dir)
			closedir(dir);
		if (err)
			return 1;
	}
	printf("%zu inputs\n", count);
	return count ? 0 : 1;
}
