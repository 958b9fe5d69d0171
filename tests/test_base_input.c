#include "base/input.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// a machine under load may take this much longer than INPUT_WAIT_S
static const double SLACK_S = 30;

static const char *pipe_path(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/moe-input-%ld", (long)getpid());
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    return path;
}

/* Each wait is a test of its own, so that they are made side by side. */
static void expect_one_wait(double begin)
{
    cr_assert_lt(clock_now_s() - begin, INPUT_WAIT_S + SLACK_S);
}

Test(input, a_pipe_that_nobody_writes_is_given_up, .timeout = 120)
{
    const char *path = pipe_path();
    struct input in;
    struct err_msg msg;
    char c;
    const double begin = clock_now_s();
    cr_assert_eq(input_open(path, &in, &msg), ERR_OK);
    cr_assert_eq(input_read(&in, &c, 1), -1);
    cr_assert(strstr(input_why(), "silent"), "%s", input_why());
    cr_assert(input_close(&in));
    expect_one_wait(begin);
    unlink(path);
}

Test(input, so_is_one_that_is_read_as_a_stream, .timeout = 120)
{
    const char *path = pipe_path();
    struct err_msg msg;
    const double begin = clock_now_s();
    cr_assert_null(input_stream(path, &msg));
    cr_assert(strstr(msg.text, "silent"), "%s", msg.text);
    expect_one_wait(begin);
    unlink(path);
}

Test(input, a_pipe_that_nobody_reads_is_given_up, .timeout = 120)
{
    const char *path = pipe_path();
    struct input in;
    struct err_msg msg;
    const double begin = clock_now_s();
    cr_assert_eq(input_open_output(path, &in, &msg), ERR_IO);
    cr_assert(strstr(msg.text, "nobody reads"), "%s", msg.text);
    expect_one_wait(begin);
    unlink(path);
}

/* A program that holds the pipe open and says nothing hangs it as well. */
Test(input, a_pipe_that_is_held_open_is_given_up, .timeout = 120)
{
    const char *path = pipe_path();
    struct input in;
    struct err_msg msg;
    char text[4];
    const int other = open(path, O_RDWR);
    cr_assert_geq(other, 0);
    cr_assert_eq(input_open(path, &in, &msg), ERR_OK);
    cr_assert_eq(write(other, "abc", 3), 3);
    cr_assert_eq(input_read(&in, text, 3), 3);
    cr_assert_eq(input_read(&in, text, 3), -1);
    input_close(&in);
    close(other);
    unlink(path);
}

Test(input, nor_does_a_full_pipe_take_more, .timeout = 120)
{
    const char *path = pipe_path();
    struct input in;
    struct err_msg msg;
    static char block[1 << 20];
    const int other = open(path, O_RDWR);
    cr_assert_geq(other, 0);
    cr_assert_eq(input_open_output(path, &in, &msg), ERR_OK);
    cr_assert_not(input_write(&in, block, sizeof block));
    input_close(&in);
    close(other);
    unlink(path);
}

Test(input, a_pipe_whose_writer_has_gone_is_at_its_end)
{
    int ends[2];
    char path[32], text[8];
    struct input in;
    struct err_msg msg;
    cr_assert_eq(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    cr_assert_eq(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    cr_assert_eq(input_open(path, &in, &msg), ERR_OK);
    cr_assert(in.is_patient);
    cr_assert_eq(input_read(&in, text, sizeof text), 3);
    cr_assert_eq(input_read(&in, text, sizeof text), 0);
    input_close(&in);
    // nothing was written at all: no silence, the end
    cr_assert_eq(input_open(path, &in, &msg), ERR_OK);
    cr_assert_eq(input_read(&in, text, sizeof text), 0);
    input_close(&in);
    close(ends[0]);
}

Test(input, devices_without_an_end_are_no_logs)
{
    struct err_msg msg;
    cr_assert_null(input_stream("/dev/zero", &msg));
    cr_assert(strstr(msg.text, "a device"), "%s", msg.text);
    FILE *f = input_stream("/dev/null", &msg);
    cr_assert_not_null(f);
    cr_assert_eq(getc(f), EOF);
    cr_assert_not(ferror(f));
    fclose(f);
}

Test(input, endless_devices_are_no_texts, .timeout = 60)
{
    struct arena a;
    struct text_span text;
    struct err_msg msg;
    char hex[TEXT_SHA256_HEX];
    arena_init(&a);
    cr_assert_eq(text_read_file(&a, "/dev/zero", 1 << 28, &text, &msg),
                 ERR_PARSE);
    cr_assert(strstr(msg.text, "offset 0"), "%s", msg.text);
    cr_assert_eq(text_read_bytes(&a, "/dev/zero", 1 << 20, &text, &msg),
                 ERR_PARSE);
    cr_assert(strstr(msg.text, "more than 1048576 bytes"), "%s", msg.text);
    cr_assert_eq(text_sha256_file("/dev/zero", hex, &msg), ERR_PARSE);
    arena_clear(&a);
}

/* ---- packed files ---- */

static void pack(const char *text, size_t cut, char path[64])
{
    char plain[80];
    struct err_msg msg;
    struct text_span packed;
    struct arena a;
    arena_init(&a);
    snprintf(path, 64, "/tmp/moe-packed-%ld.gz", (long)getpid());
    snprintf(plain, sizeof plain, "%s.txt", path);
    cr_assert_eq(text_write_file(plain, text, strlen(text), &msg), ERR_OK, "%s",
                 msg.text);
    cr_assert_eq(file_pack(plain, path, &msg), ERR_OK, "%s", msg.text);
    cr_assert_eq(text_read_bytes(&a, path, 1 << 20, &packed, &msg), ERR_OK);
    cr_assert_eq(text_write_file(path, packed.data, packed.len - cut, &msg),
                 ERR_OK);
    unlink(plain);
    arena_clear(&a);
}

Test(input, a_packed_log_is_read_as_what_it_holds)
{
    char path[64], line[64];
    struct err_msg msg;
    struct text_span text;
    struct arena a;
    arena_init(&a);
    pack("first line\nsecond\n", 0, path);
    FILE *f = input_stream(path, &msg);
    cr_assert_not_null(f, "%s", msg.text);
    cr_assert_not_null(fgets(line, sizeof line, f));
    cr_assert_str_eq(line, "first line\n");
    cr_assert_eq(fclose(f), 0);
    cr_assert_eq(text_read_unpacked(&a, path, 64, &text, &msg), ERR_OK, "%s",
                 msg.text);
    cr_assert_str_eq(text.data, "first line\nsecond\n");
    // the limit is of what it holds
    cr_assert_eq(text_read_unpacked(&a, path, 8, &text, &msg), ERR_PARSE);
    unlink(path);
    arena_clear(&a);
}

Test(input, a_packed_log_that_is_cut_is_named)
{
    char path[64];
    struct err_msg msg;
    pack("first line\nsecond\n", 6, path);
    cr_assert_null(input_stream(path, &msg));
    cr_assert(strstr(msg.text, "want a whole gzip file"), "%s", msg.text);
    unlink(path);
}
