/* file: folders, copies and packed files. */
#include "base/file.h"

#include "base/arena.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena arena;
static char dir[64];

static void begin(void)
{
    arena_init(&arena);
    strncpy(dir, "/tmp/moe-file-XXXXXX", sizeof dir);
    cr_assert_not_null(mkdtemp(dir));
}

static void end(void)
{
    file_remove_tree(dir);
    cr_assert_neq(access(dir, F_OK), 0, "the folder is gone");
    arena_clear(&arena);
}

TestSuite(file, .init = begin, .fini = end);

static const char *in(const char *name)
{
    return arena_printf(&arena, "%s/%s", dir, name);
}

/* The numbers from 0 on, as many as make `lines` lines. */
static void put_numbers(const char *path, int lines)
{
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < lines; i++)
        fprintf(f, "%d\n", i);
    fclose(f);
}

static struct text_span get(const char *path)
{
    struct text_span t = {0};
    struct err_msg msg;
    cr_assert_eq(text_read_bytes(&arena, path, 1 << 26, &t, &msg), ERR_OK, "%s",
                 msg.text);
    return t;
}

static void put(const char *path, const char *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    fwrite(data, 1, len, f);
    fclose(f);
}

static bool is_same(const char *x, const char *y)
{
    struct text_span a = get(x), b = get(y);
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

Test(file, packing_and_unpacking_give_the_same_bytes)
{
    static const int lines[] = {0, 1, 100000};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct err_msg msg = {""};
        put_numbers(in("a"), lines[i]);
        cr_assert_eq(file_pack(in("a"), in("a.gz"), &msg), ERR_OK, "%s",
                     msg.text);
        cr_assert_eq(file_unpack(in("a.gz"), in("b"), &msg), ERR_OK, "%s",
                     msg.text);
        cr_assert(is_same(in("a"), in("b")));
    }
    cr_assert_lt(get(in("a.gz")).len * 2, get(in("a")).len);
}

Test(file, the_same_bytes_are_packed_alike_at_any_time)
{
    struct err_msg msg;
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    put_numbers(in("a"), 1000);
    put_numbers(in("other-name"), 1000);
    utimensat(AT_FDCWD, in("a"), old, 0);
    cr_assert_eq(file_pack(in("a"), in("a.gz"), &msg), ERR_OK);
    cr_assert_eq(file_pack(in("other-name"), in("b.gz"), &msg), ERR_OK);
    cr_assert(is_same(in("a.gz"), in("b.gz")));
    const char *head = get(in("a.gz")).data;
    cr_assert_eq(memcmp(head, "\x1f\x8b\x08\0\0\0\0\0", 8), 0,
                 "no name, no time");
}

Test(file, only_whole_packed_files_are_unpacked)
{
    struct err_msg msg;
    put_numbers(in("a"), 100000);
    cr_assert_eq(file_pack(in("a"), in("a.gz"), &msg), ERR_OK);
    struct text_span t = get(in("a.gz"));
    put(in("b"), "old", 3);
    const size_t cuts[] = {0, 5, 12, t.len / 2, t.len - 9, t.len - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        put(in("cut.gz"), t.data, cuts[i]);
        cr_expect_eq(file_unpack(in("cut.gz"), in("b"), &msg), ERR_PARSE,
                     "cut to %zu of %zu bytes", cuts[i], t.len);
        cr_expect(strstr(msg.text, "whole gzip file"), "%s", msg.text);
    }
    t.data[t.len / 2] ^= 0x55;
    put(in("bad.gz"), t.data, t.len);
    cr_expect_eq(file_unpack(in("bad.gz"), in("b"), &msg), ERR_PARSE);
    cr_expect_eq(file_unpack(in("a"), in("b"), &msg), ERR_PARSE);
    cr_expect_str_eq(get(in("b")).data, "old", "the file stays as it was");
    cr_expect_eq(file_unpack(in("none"), in("b"), &msg), ERR_PARSE);
    cr_expect(strstr(msg.text, "No such file"), "%s", msg.text);
}

Test(file, copies_are_byte_for_byte_also_of_packed_files)
{
    struct err_msg msg;
    put_numbers(in("a"), 100000);
    cr_assert_eq(file_copy(in("a"), in("b"), &msg), ERR_OK);
    cr_assert(is_same(in("a"), in("b")));
    cr_assert_eq(file_pack(in("a"), in("a.gz"), &msg), ERR_OK);
    cr_assert_eq(file_copy(in("a.gz"), in("c.gz"), &msg), ERR_OK);
    cr_assert(is_same(in("a.gz"), in("c.gz")));
    cr_assert_eq(file_copy(dir, in("d"), &msg), ERR_PARSE);
    cr_assert_eq(file_copy(in("a"), in("none/d"), &msg), ERR_IO);
    cr_assert_eq(symlink(in("b"), in("link")), 0);
    cr_assert_eq(file_copy(in("a"), in("link"), &msg), ERR_IO);
    cr_assert(strstr(msg.text, "not a plain file"), "%s", msg.text);
}

Test(file, folders_are_made_with_those_above)
{
    struct err_msg msg;
    cr_assert_eq(file_make_folders(in("a/b/c"), &msg), ERR_OK);
    cr_assert_eq(file_make_folders(in("a/b/c"), &msg), ERR_OK, "again");
    cr_assert_eq(access(in("a/b/c"), F_OK), 0);
    cr_assert_eq(file_make_parents(in("x/y/file"), &msg), ERR_OK);
    cr_assert_eq(access(in("x/y"), F_OK), 0);
    cr_assert_neq(access(in("x/y/file"), F_OK), 0);
    put(in("plain"), "", 0);
    cr_assert_eq(file_make_folders(in("plain/z"), &msg), ERR_IO);
    cr_assert(strstr(msg.text, "plain/z"), "%s", msg.text);
}

Test(file, links_in_a_removed_tree_are_not_followed)
{
    struct err_msg msg;
    cr_assert_eq(file_make_folders(in("keep/inner"), &msg), ERR_OK);
    cr_assert_eq(file_make_folders(in("gone/deep/er"), &msg), ERR_OK);
    put(in("gone/deep/file"), "x", 1);
    cr_assert_eq(symlink(in("keep"), in("gone/link")), 0);
    file_remove_tree(in("gone"));
    cr_assert_neq(access(in("gone"), F_OK), 0);
    cr_assert_eq(access(in("keep/inner"), F_OK), 0);
}

Test(file, one_file_of_two_names_is_the_same)
{
    put(in("a"), "x", 1);
    put(in("b"), "x", 1);
    cr_assert_eq(symlink(in("a"), in("link")), 0);
    cr_expect(file_is_same(in("a"), in("a")));
    cr_expect(file_is_same(in("a"), in("link")));
    cr_expect_not(file_is_same(in("a"), in("b")));
    cr_expect_not(file_is_same(in("none"), in("none")));
    cr_expect_not(file_is_same(in("a"), NULL));
    cr_expect_not(file_is_same(dir, dir), "a folder is no file");
}

Test(file, ours_is_what_is_not_there_or_begins_as_ours_do)
{
    put(in("ours"), "format,x\n", 9);
    put(in("others"), "notes\n", 6);
    put(in("short"), "form", 4);
    put(in("empty"), "", 0);
    cr_expect(file_is_ours(in("ours"), "format,"));
    cr_expect(file_is_ours(in("empty"), "format,"));
    cr_expect(file_is_ours(in("none"), "format,"));
    cr_expect_not(file_is_ours(in("others"), "format,"));
    cr_expect_not(file_is_ours(in("short"), "format,"));
}

/* A second holder within one process is another description: it waits. */
Test(file, a_folder_is_held_until_it_is_let_go)
{
    struct err_msg msg;
    int lock = -2;
    cr_assert_eq(file_lock(in("none"), &lock, &msg), ERR_IO);
    cr_expect_eq(lock, -2, "written only on success");
    cr_assert_eq(file_lock_folder(in("x.csv"), &lock, &msg), ERR_OK, "%s",
                 msg.text);
    const int other = open(dir, O_RDONLY | O_DIRECTORY);
    cr_expect_neq(flock(other, LOCK_EX | LOCK_NB), 0);
    close(lock);
    cr_expect_eq(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
}

Test(file, temporary_names_are_below_an_absolute_tmpdir)
{
    setenv("TMPDIR", "/var/x", 1);
    cr_expect_str_eq(file_temporary_name(&arena, "a"), "/var/x/a-XXXXXX");
    setenv("TMPDIR", "", 1);
    cr_expect_str_eq(file_temporary_name(&arena, "a"), "/tmp/a-XXXXXX");
    setenv("TMPDIR", "x", 1);
    cr_expect_str_eq(file_temporary_name(&arena, "a"), "/tmp/a-XXXXXX");
    unsetenv("TMPDIR");
    cr_expect_str_eq(file_temporary_name(&arena, "a"), "/tmp/a-XXXXXX");
}
