/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd/vpull/engines/docker_plugin.c: argv as the docker client passes it. */
#include "cmd/vpull/engines/docker_plugin.c"
#include "test/unit/suite.h"

#define ARGS_MAX 12

static struct plugin_args parse(char *const *argv)
{
    struct plugin_args args;
    int argc = 0;

    while (argv[argc])
        argc++;
    plugin_parse(argc, (char **)argv, &args);
    return args;
}

static const struct {
    char *argv[ARGS_MAX];
    enum plugin_call call;
    int first;
} cases[] = {
    {{"vpull", "alpine"}, PLUGIN_NONE, 1},
    {{"/usr/bin/vpull", "docker-cli-plugin-metadata"}, PLUGIN_NONE, 1},
    {{"docker-vpull", "docker-cli-plugin-metadata"}, PLUGIN_METADATA, 1},
    {{"/x/docker-vpull", "vpull", "alpine"}, PLUGIN_RUN, 2},
    {{"docker-vpull", "vpull"}, PLUGIN_RUN, 2},
    {{"docker-vpull", "alpine"}, PLUGIN_RUN, 1},
    {{"docker-vpull", "--dry-run", "alpine"}, PLUGIN_RUN, 1},
    {{"docker-vpull"}, PLUGIN_RUN, 1},
    {{"docker-vpull", "-H", "unix:///x", "vpull", "a"}, PLUGIN_RUN, 4},
    {{"docker-vpull", "-Hunix:///x", "vpull", "a"}, PLUGIN_RUN, 3},
    {{"docker-vpull", "--host=unix:///x", "vpull", "a"}, PLUGIN_RUN, 3},
    {{"docker-vpull", "-DH", "unix:///x", "vpull", "a"}, PLUGIN_RUN, 4},
    {{"docker-vpull", "--config", "vpull", "vpull", "a"}, PLUGIN_RUN, 4},
    {{"docker-vpull", "--tls=false", "--tlscacert", "c", "vpull", "a"}, PLUGIN_RUN, 5},
    {{"docker-vpull", "-c", "prod", "-l", "debug", "vpull", "vpull"}, PLUGIN_RUN, 6},
    {{"docker-vpull", "help", "vpull"}, PLUGIN_HELP, 3},
    {{"docker-vpull", "__complete", "vpull", ""}, PLUGIN_COMPLETION, 1},
    {{"docker-vpull", "__completeNoDesc", "vpull", ""}, PLUGIN_COMPLETION, 1},
    {{"docker-vpull", "vpull", "docker-cli-plugin-hooks", "{}"}, PLUGIN_HOOK, 3},
};

START_TEST(test_argv)
{
    struct plugin_args args = parse(cases[_i].argv);

    ck_assert_int_eq(args.call, cases[_i].call);
    if (args.call != PLUGIN_COMPLETION && args.call != PLUGIN_METADATA)
        ck_assert_int_eq(args.first, cases[_i].first);
}
END_TEST

START_TEST(test_globals)
{
    char *argv[] = {"docker-vpull", "-D",       "--host", "tcp://h:1",
                    "--context=c1", "--config", "/cfg",   "--tlsverify",
                    "--tlskey=k",   "vpull",    "-H",     NULL};
    struct plugin_args args = parse(argv);

    ck_assert(args.globals.debug);
    ck_assert(args.globals.tls_verify);
    ck_assert(!args.globals.tls);
    ck_assert_str_eq(args.globals.host, "tcp://h:1");
    ck_assert_str_eq(args.globals.context, "c1");
    ck_assert_str_eq(args.globals.config, "/cfg");
    ck_assert_str_eq(args.globals.tls_key, "k");
    ck_assert_ptr_null(args.globals.tls_ca);
    ck_assert_int_eq(args.first, 10);
}
END_TEST

/* What looks like docker's options but has no `vpull` behind it belongs to the program. */
START_TEST(test_globals_without_command)
{
    char *argv[] = {"docker-vpull", "--host", "tcp://h:1", "alpine", NULL};
    struct plugin_args args = parse(argv);

    ck_assert_int_eq(args.first, 1);
    ck_assert_ptr_null(args.globals.host);
}
END_TEST

START_TEST(test_value_missing)
{
    char *argv[] = {"docker-vpull", "--host", NULL};
    struct plugin_args args = parse(argv);

    ck_assert_int_eq(args.call, PLUGIN_RUN);
    ck_assert_int_eq(args.first, 1);
}
END_TEST

static char *printed(void (*print)(FILE *, const char *), const char *argument)
{
    char *text = NULL;
    size_t len;
    FILE *stream = open_memstream(&text, &len);

    ck_assert_ptr_nonnull(stream);
    print(stream, argument);
    fclose(stream);
    return text;
}

static void print_metadata(FILE *stream, const char *unused)
{
    (void)unused;
    plugin_print_metadata(stream);
}

START_TEST(test_metadata)
{
    char *text = printed(print_metadata, NULL);
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    ck_assert_ptr_nonnull(object);
    ck_assert_str_eq(json_string_value(json_object_get(object, "SchemaVersion")), "0.1.0");
    ck_assert_ptr_nonnull(json_string_value(json_object_get(object, "Vendor")));
    ck_assert_str_eq(json_string_value(json_object_get(object, "Version")), ocv_version());
    json_decref(object);
    free(text);
}
END_TEST

START_TEST(test_hook)
{
    char *text = printed(plugin_print_hook, "{\"CommandError\":\"no matching manifest for x\"}");

    ck_assert_ptr_nonnull(strstr(text, "docker vpull"));
    free(text);
    text = printed(plugin_print_hook, "{\"CommandError\":\"denied\"}");
    ck_assert_str_eq(text, "");
    free(text);
    text = printed(plugin_print_hook, "not json");
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

TEST_FILE
{
    Suite *suite = suite_create("plugin");
    TCase *tcase = tcase_create("plugin");

    tcase_add_loop_test(tcase, test_argv, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tcase, test_globals);
    tcase_add_test(tcase, test_globals_without_command);
    tcase_add_test(tcase, test_value_missing);
    tcase_add_test(tcase, test_metadata);
    tcase_add_test(tcase, test_hook);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
