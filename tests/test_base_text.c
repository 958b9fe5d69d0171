#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Test(text, numbers_fill_their_whole_field)
{
    int64_t i = -1;
    double d = -1;
    static const char *const bad_int[] = {
        "", " 1", "1 ", "+1", "1x", "0x10", "9223372036854775808", "-", "1.0"};
    for (size_t k = 0; k < sizeof bad_int / sizeof bad_int[0]; k++)
        cr_assert_not(text_to_int64(bad_int[k], &i), "'%s'", bad_int[k]);
    cr_assert_eq(i, -1, "untouched on failure");
    cr_assert(text_to_int64("-9223372036854775808", &i));
    cr_assert_eq(i, INT64_MIN);
    static const char *const bad[] = {"",      "nan", "inf", "0x1p3",
                                      "1e999", "1,5", " 2",  "2 "};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        cr_assert_not(text_to_double(bad[k], &d), "'%s'", bad[k]);
    cr_assert(text_to_double("-1.5e-3", &d));
    cr_assert_float_eq(d, -1.5e-3, 1e-18);
}

Test(text, nearest_finds_typos_and_nothing_else)
{
    static const char *const names[] = {"num-layers", "hidden-size", "pp"};
    cr_assert_str_eq(text_nearest("num-layer", names, 3), "num-layers");
    cr_assert_str_eq(text_nearest("hiden-size", names, 3), "hidden-size");
    cr_assert_null(text_nearest("zzzzzz", names, 3));
    char longword[200];
    memset(longword, 'a', sizeof longword);
    longword[199] = '\0';
    cr_assert_null(text_nearest(longword, names, 3));
}

Test(text, files_are_read_whole_and_bounded)
{
    struct arena a;
    struct text_span s;
    struct err_msg msg;
    arena_init(&a);
    char path[] = "/tmp/moe-text-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "a\0b", 3), 3);
    close(fd);
    cr_assert_eq(text_read_bytes(&a, path, 100, &s, &msg), ERR_OK);
    cr_assert_eq(s.len, 3);
    cr_assert_eq(s.data[2], 'b');
    cr_assert_eq(text_check_zeros(&s, path, &msg), ERR_PARSE);
    cr_assert_eq(text_read_file(&a, path, 100, &s, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "zero byte at offset 1"), "%s", msg.text);
    cr_assert_eq(text_read_bytes(&a, path, 2, &s, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "more than 2 bytes"), "%s", msg.text);
    unlink(path);
    cr_assert_eq(text_read_file(&a, path, 2, &s, &msg), ERR_PARSE);
    cr_assert(strstr(msg.text, "No such file"), "%s", msg.text);
    arena_clear(&a);
}

Test(text, writing_replaces_the_file_or_leaves_it)
{
    struct arena a;
    struct text_span s;
    struct err_msg msg;
    arena_init(&a);
    char dir[] = "/tmp/moe-text-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    char *path = arena_printf(&a, "%s/f", dir);
    cr_assert_eq(text_write_file(path, "old", 3, &msg), ERR_OK);
    cr_assert_eq(text_write_file(path, "new!", 4, &msg), ERR_OK);
    cr_assert_eq(text_read_file(&a, path, 100, &s, &msg), ERR_OK);
    cr_assert_str_eq(s.data, "new!");
    cr_assert_eq(text_write_file("/nonexistent-dir/x", "a", 1, &msg), ERR_IO);
    unlink(path);
    cr_assert_eq(rmdir(dir), 0, "no temporary file is left");
    arena_clear(&a);
}

Test(text, a_file_that_has_the_text_is_not_written)
{
    struct arena a;
    struct err_msg msg;
    struct stat was, is;
    char dir[] = "/tmp/moe-text-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    arena_init(&a);
    const char *path = arena_printf(&a, "%s/f", dir);
    cr_assert_eq(text_write_changed(&a, path, "one", &msg), ERR_OK);
    cr_assert_eq(stat(path, &was), 0);
    cr_assert_eq(text_write_changed(&a, path, "one", &msg), ERR_OK);
    cr_assert_eq(stat(path, &is), 0);
    // a file that is written has another inode: it is renamed
    cr_expect_eq(is.st_ino, was.st_ino);
    static const char *const others[] = {"on", "onetwo", "two"};
    for (int i = 0; i < 3; i++) {
        struct text_span got;
        cr_assert_eq(text_write_changed(&a, path, others[i], &msg), ERR_OK);
        cr_assert_eq(text_read_file(&a, path, 100, &got, &msg), ERR_OK);
        cr_expect_str_eq(got.data, others[i]);
    }
    unlink(path);
    rmdir(dir);
    arena_clear(&a);
}

Test(text, devices_and_links_are_written_not_replaced)
{
    struct arena a;
    struct text_span s;
    struct stat st;
    struct err_msg msg;
    arena_init(&a);
    cr_assert_eq(text_write_file("/dev/null", "x", 1, &msg), ERR_OK);
    cr_assert_eq(stat("/dev/null", &st), 0);
    cr_assert(S_ISCHR(st.st_mode), "still a device");
    char dir[] = "/tmp/moe-text-XXXXXX";
    cr_assert_not_null(mkdtemp(dir));
    char *link = arena_printf(&a, "%s/link", dir);
    char *file = arena_printf(&a, "%s/file", dir);
    cr_assert_eq(symlink(file, link), 0);
    cr_assert_eq(text_write_file(link, "new", 3, &msg), ERR_OK);
    cr_assert_eq(lstat(link, &st), 0);
    cr_assert(S_ISLNK(st.st_mode), "still a link");
    cr_assert_eq(text_read_file(&a, file, 100, &s, &msg), ERR_OK);
    cr_assert_str_eq(s.data, "new");
    unlink(link);
    unlink(file);
    cr_assert_eq(rmdir(dir), 0);
    arena_clear(&a);
}

Test(text, sha256_is_the_known_digest)
{
    char hex[TEXT_SHA256_HEX];
    text_sha256("abc", 3, hex);
    cr_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410"
                          "ff61f20015ad");
}

Test(text, a_terminal_is_given_no_control_characters)
{
    struct arena a;
    arena_init(&a);
    const char *plain = "caf\xc3\xa9 $(x)";
    cr_assert_eq(text_one_line(&a, plain), plain, "no copy without need");
    cr_assert_str_eq(text_one_line(&a, "a\033[31m\nb\x7f"), "a?[31m?b?");
    arena_clear(&a);
}

Test(text, characters_of_utf8_have_these_bytes)
{
    static const struct {
        const char *text;
        size_t n;
    } all[] = {{"", 1},
               {"a", 1},
               {"\xc3\xa9", 2},
               {"\xe2\x82\xac", 3},
               {"\xf0\x9f\x98\x80", 4},
               {"\xf4\x8f\xbf\xbf", 4},
               {"\xa9", 0},              // begins nothing
               {"\xc3", 0},              // ends too early
               {"\xc1\xa9", 0},          // too long a form
               {"\xe0\x9f\xbf", 0},      // the same of three bytes
               {"\xed\xa0\x80", 0},      // half of a pair of UTF-16
               {"\xf4\x90\x80\x80", 0}}; // beyond Unicode
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cr_expect_eq(text_utf8_bytes(all[i].text), all[i].n, "text %zu", i);
}

Test(text, a_byte_is_named_so_that_any_terminal_shows_it)
{
    char name[TEXT_BYTE_NAME];
    cr_expect_str_eq(text_name_byte('x', name), "'x'");
    cr_expect_str_eq(text_name_byte('\n', name), "\\x0A");
    cr_expect_str_eq(text_name_byte((char)0xC3, name), "\\xC3");
    cr_expect_str_eq(text_name_byte('\0', name), "the end");
}
