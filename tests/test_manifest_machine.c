#include "manifest/machine.h"

#include <criterion/criterion.h>
#include <string.h>

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
