#include <string.h>

#include "shield/shield.h"

#define HOSTS                                                                                      \
	"# Hosts that development tools may reach without a question. Edit this list freely.\n"    \
	"hosts:\n"                                                                                 \
	"  - github.com\n  - api.github.com\n  - codeload.github.com\n"                            \
	"  - objects.githubusercontent.com\n  - raw.githubusercontent.com\n  - ghcr.io\n"          \
	"  - gitlab.com\n  - bitbucket.org\n  - codeberg.org\n"                                    \
	"  - registry.npmjs.org\n  - registry.yarnpkg.com\n  - nodejs.org\n  - jsr.io\n"           \
	"  - pypi.org\n  - files.pythonhosted.org\n  - conda.anaconda.org\n"                       \
	"  - crates.io\n  - index.crates.io\n  - static.crates.io\n  - static.rust-lang.org\n"     \
	"  - proxy.golang.org\n  - sum.golang.org\n  - go.dev\n"                                   \
	"  - rubygems.org\n  - index.rubygems.org\n  - packagist.org\n  - repo.packagist.org\n"    \
	"  - repo.maven.apache.org\n  - repo1.maven.org\n  - plugins.gradle.org\n"                 \
	"  - services.gradle.org\n  - api.nuget.org\n  - hex.pm\n  - repo.hex.pm\n"                \
	"  - pub.dev\n  - hackage.haskell.org\n  - cpan.org\n  - cpan.metacpan.org\n"              \
	"  - registry-1.docker.io\n  - auth.docker.io\n  - docker.io\n  - quay.io\n"              \
	"  - deb.debian.org\n  - security.debian.org\n  - archive.ubuntu.com\n"                    \
	"  - dl-cdn.alpinelinux.org\n  - formulae.brew.sh\n  - cache.nixos.org\n"

#define READS                                                                                      \
	"  - name: read\n    effects: [read, list]\n"                                              \
	"    paths: [<workspace>, <temp>, <system>]\n"                                             \
	"    reason: reading what is not the user's own is open\n"                                 \
	"    match:\n      - { read_file: { path: src/main.c } }\n"                                \
	"    not_match:\n      - { read_file: { path: ~/.ssh/id_rsa } }\n"

#define CONTAINED                                                                                  \
	"  - name: contained\n    effects: [exec, opaque, environment]\n"                          \
	"    reason: runs under a grant that holds it in the workspace\n"                          \
	"  - name: write-workspace\n    effects: [write, create, rename, attributes]\n"            \
	"    paths: [<workspace>, <temp>, <device>]\n"                                             \
	"    reason: the workspace is there to be worked in, and its prior state is kept\n"        \
	"    match:\n      - { write_file: { path: a.txt, content: x } }\n"                        \
	"    not_match:\n      - { write_file: { path: /etc/motd, content: x } }\n"                \
	"  - name: delete-remade\n    effects: [delete]\n    paths: [<workspace>, <temp>]\n"       \
	"    states: [artefact, tracked, absent, own]\n"                                           \
	"    reason: it can be made again or is in git\n"                                          \
	"    match:\n      - { delete_directory: { path: node_modules } }\n"                       \
	"    not_match:\n      - { delete_directory: { path: photos } }\n"                         \
	"  - name: delete-one\n    effects: [delete]\n    recursive: false\n"                      \
	"    paths: [<workspace>, <temp>]\n"                                                       \
	"    reason: one file, whose prior state is kept\n"                                        \
	"  - name: delete-temp\n    effects: [delete]\n    paths: [<temp>]\n"                      \
	"    reason: temporary files\n"                                                            \
	"  - name: arms-on-purpose\n    effects: [arms]\n    paths: [<run-on-purpose>]\n"          \
	"    reason: runs only when somebody starts it\n"                                          \
	"  - name: development-hosts\n    effects: [connect]\n    hosts: [<development>]\n"        \
	"    reason: a host of the list for development tools\n"                                   \
	"  - name: loopback\n    effects: [connect, listen, send]\n    hosts: [<loopback>]\n"      \
	"    reason: this machine only\n"

static const char preset_default[] =
	"# The preset `default`: work inside the workspace flows, what leaves it is asked about.\n"
	"version: 1\n"
	"default: ask\n"
	"fallback: ask\n"
	"flow: default\n"
	"ceiling:\n  read: [/]\n  write: [~/, /]\n  temp: true\n  any_host: true\n" HOSTS
	"deny:\n"
	"  - name: metadata-services\n    effects: [connect, send]\n    hosts: [<metadata>]\n"
	"    reason: it hands out credentials of the cloud machine\n"
	"ask:\n"
	"  - name: loopback-services\n    effects: [connect, send]\n"
	"    hosts: [\"<loopback>:22\", \"<loopback>:25\", \"<loopback>:2375\", \"<loopback>:2376\",\n"
	"      \"<loopback>:6379\", \"<loopback>:11211\", \"<loopback>:27017\", \"<loopback>:10250\"]\n"
	"    reason: a service that may hold data or control of the machine\n"
	"allow:\n" READS CONTAINED
	"  - name: harmless\n"
	"    actions: [memory_search, read_calendar, create_event, update_event, list_schedules,\n"
	"      list_agents, agent_status, agent_result, browser_extract, browser_screenshot,\n"
	"      system_info, notify]\n"
	"    reason: shows or plans something, sends no data away\n";

static const char preset_strict[] =
	"# The preset `strict`: reading flows, every change is asked about, nothing leaves.\n"
	"version: 1\n"
	"default: ask\n"
	"fallback: deny\n"
	"flow: strict\n"
	"ceiling:\n  read: [/usr, /etc, /opt]\n  temp: true\n" HOSTS
	"deny:\n"
	"  - name: no-network\n    effects: [connect, send, listen]\n"
	"    hosts: [\"*\"]\n    reason: nothing leaves this machine\n"
	"  - name: no-privilege\n    effects: [privilege, schedule]\n"
	"    reason: not under this policy\n"
	"verify:\n"
	"  - name: commands\n    actions: [execute_command]\n    tier: 2\n"
	"    reason: every command is looked at\n"
	"allow:\n" READS
	"  - name: run\n    effects: [exec, environment]\n"
	"    reason: runs under a grant that holds it in the workspace\n"
	"  - name: write-temp\n    effects: [write, create, delete]\n    paths: [<temp>, <device>]\n"
	"    reason: temporary files\n";

static const char preset_permissive[] =
	"# The preset `permissive`: only protection, information flow and clear evil are refused.\n"
	"version: 1\n"
	"default: ask\n"
	"fallback: ask\n"
	"flow: permissive\n"
	"ceiling:\n  read: [/]\n  write: [~/, /]\n  temp: true\n  any_host: true\n" HOSTS
	"deny:\n"
	"  - name: metadata-services\n    effects: [connect, send]\n    hosts: [<metadata>]\n"
	"    reason: it hands out credentials of the cloud machine\n"
	"allow:\n" READS CONTAINED
	"  - name: delete-workspace\n    effects: [delete]\n    paths: [<workspace>]\n"
	"    reason: the prior state is kept\n"
	"  - name: any-host\n    effects: [connect]\n    hosts: [\"*\"]\n"
	"    reason: any host may be read from\n"
	"  - name: other-actions\n"
	"    actions: [memory_write, memory_search, read_calendar, create_event, update_event,\n"
	"      list_schedules, list_agents, agent_status, agent_result, browser_navigate,\n"
	"      browser_extract, browser_screenshot, canvas_create, canvas_update, canvas_project,\n"
	"      system_info, notify]\n"
	"    reason: open under this policy\n";

const char *il_policy_preset(const char *name, size_t *ret_n)
{
	static const struct {
		const char *name, *text;
	} presets[] = { { "default", preset_default }, { "strict", preset_strict },
		{ "permissive", preset_permissive } };

	for (size_t i = 0; i < N_ELEMENTS(presets); i++) {
		if (strcmp(presets[i].name, name) == 0) {
			*ret_n = strlen(presets[i].text);
			return presets[i].text;
		}
	}
	return NULL;
}
