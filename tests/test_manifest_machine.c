#include "manifest/machine.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Test(machine, chooses_a_kernel_set_by_flags)
{
    cr_expect_str_eq(machine_blas_core("fpu avx2 avx512f sse"), "SkylakeX");
    cr_expect_str_eq(machine_blas_core("fpu avx2 sse"), "Haswell");
    cr_expect_str_eq(machine_blas_core("avx2"), "Haswell");
    cr_expect_str_eq(machine_blas_core("fpu avx sse"), "");
    cr_expect_str_eq(machine_blas_core("avx2x xavx2"), "",
                     "only whole words count");
    cr_expect_str_eq(machine_blas_core(""), "");
}

Test(machine, knows_this_machine_and_hashes_it_alike)
{
    struct arena a;
    struct machine m, again;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(machine_read(&a, &m, &msg), ERR_OK);
    cr_assert_eq(machine_read(&a, &again, &msg), ERR_OK);
    cr_expect_geq(m.n_cores, 1);
    cr_expect_gt(m.mem_bytes, 1 << 24);
    cr_expect_gt(strlen(m.cpu_model), 0);
    cr_expect_not_null(strstr(m.os, "Linux"));
    cr_expect_eq(strlen(m.sha256), TEXT_SHA256_HEX - 1);
    cr_expect_str_eq(m.sha256, again.sha256);
    arena_clear(&a);
}

Test(machine, json_holds_the_hash)
{
    struct arena a;
    struct err_msg msg;
    struct machine m;
    arena_init(&a);
    cr_assert_eq(machine_read(&a, &m, &msg), ERR_OK);
    cJSON *o = machine_to_json(&m);
    cr_assert_not_null(o);
    cr_expect_str_eq(json_get(o, "format")->valuestring, "moe-bench/machine/1");
    cr_expect_str_eq(json_get(o, "sha256")->valuestring, m.sha256);
    cJSON_Delete(o);
    arena_clear(&a);
}

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert(f);
    fputs(text, f);
    cr_assert_eq(fclose(f), 0);
}

/* A work tree beside its repository has a file .git with a path, and its
 * branches in the repository. */
Test(machine, knows_the_commit_of_a_work_tree_beside_the_repository)
{
    static const char commit[] = "0123456789abcdef0123456789abcdef01234567";
    char dir[] = "/tmp/test_machine.XXXXXX", text[200];
    struct arena a;
    struct machine m;
    struct err_msg msg;
    arena_init(&a);
    cr_assert(mkdtemp(dir) && chdir(dir) == 0);
    static const char *const folders[] = {
        "repo", "repo/refs", "repo/refs/heads", "repo/tree", "work"};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(mkdir(folders[i], 0700), 0);
    put_file("repo/refs/heads/b", commit);
    put_file("repo/tree/HEAD", "ref: refs/heads/b\n");
    put_file("repo/tree/commondir", "..\n");
    snprintf(text, sizeof text, "gitdir: %s/repo/tree\n", dir);
    put_file("work/.git", text);
    cr_assert_eq(chdir("work"), 0);
    cr_assert_eq(machine_read(&a, &m, &msg), ERR_OK, "%s", msg.text);
    cr_expect_str_eq(m.commit, commit);
    arena_clear(&a);
    static const char *const files[] = {"work/.git", "repo/tree/commondir",
                                        "repo/tree/HEAD", "repo/refs/heads/b"};
    cr_assert_eq(chdir(dir), 0);
    for (int i = 0; i < 4; i++)
        unlink(files[i]);
    for (int i = 4; i >= 0; i--)
        rmdir(folders[i]);
    rmdir(dir);
}
