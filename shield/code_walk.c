/*
 * Code in another language (python -c, awk, perl -e, node -e ...): not understood, but the texts
 * that stand in it are looked at - paths, addresses, commands - and what the grant holds is held
 * whatever the code does.
 */
#include <stdlib.h>
#include <string.h>

#include "shield/decode.h"
#include "shield/walk.h"

static bool has_word(const char *code, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strstr(code, words[i]))
			return true;
	}
	return false;
}

static const char *const deleting[] = { "rmtree", "unlink", "os.remove", "rmSync", "rmdirSync",
	"File.delete", "rm_rf", "rm_r", "remove_tree", "shutil.move", "unlinkSync", "fs.rm",
	"FileUtils.rm", "removedirs", NULL };
static const char *const writing[] = { "'w'", "\"w\"", "'a'", "\"a\"", "'wb'", "\"wb\"",
	"writeFile", "write_text", "appendFile", "File.write", "file_put_contents", ">>", "'>'",
	"open(my", NULL };
static const char *const running[] = { "os.system", "subprocess", "popen", "Popen", "exec(",
	"execSync", "spawn", "system(", "system ", "child_process", "shell_exec", "passthru",
	"Kernel.", "IO.popen", "backtick", "qx", "`", "pty.spawn", "execv", "|getline", "| getline",
	NULL };
static const char *const evaluating[] = { "b64decode", "fromhex", "atob(", "decode('hex')",
	"unhexlify", "base64_decode", "pack(", "unpack(", "Buffer.from", "marshal.loads",
	"zlib.decompress", NULL };
static const char *const sockets[] = { "socket.socket", "TCPSocket", "net.connect", "IO::Socket",
	"Socket.tcp", "fsockopen", "/inet/tcp", "net.Socket", NULL };

static void walk_quoted(
	struct walk *w, const char *text, size_t n, enum effect_kind kind, bool runs)
{
	struct argument arg = { .text = arena_text(w->arena, text, n) };

	if (!arg.text || n == 0)
		return;
	arg.prefix = arg.text;
	if (strstr(arg.text, "://")) {
		(void)walk_host(w, &arg);
	} else if (arg.text[0] == '/' || arg.text[0] == '~' || strncmp(arg.text, "../", 3) == 0) {
		if (n > 1 || kind == EFFECT_DELETE)
			walk_path_effect(w, kind, &arg, kind == EFFECT_DELETE);
	}
	if (runs && strchr(arg.text, ' ') && arg.text[0] != ' ')
		walk_text(w, arg.text, n);
	else if (runs && (strcmp(arg.text, "/bin/sh") == 0 || strcmp(arg.text, "/bin/bash") == 0 ||
				 strcmp(arg.text, "sh") == 0))
		walk_effect(w, EFFECT_EXEC, arg.text, NULL, false);
}

void code_walk(struct walk *w, const char *program, const char *code)
{
	bool runs = has_word(code, running);
	enum effect_kind kind = has_word(code, deleting)  ? EFFECT_DELETE
				: has_word(code, writing) ? EFFECT_WRITE
							  : EFFECT_READ;
	bool is_sed = strcmp(program, "sed") == 0;

	if (is_sed) {
		/* s/../../e and the commands e, w, r of GNU sed. */
		if (strncmp(code, "e ", 2) == 0 || strncmp(code, "1e ", 3) == 0 ||
			strstr(code, ";e ") || strstr(code, "/e;")) {
			const char *command = strstr(code, "e ");

			walk_note(w, "NOTE-HIDDEN-COMMAND", "sed is told to run a program");
			if (command)
				walk_text(w, command + 2, strlen(command + 2));
		}
		return;
	}
	if (runs && decode_escapes(w->arena, code))
		walk_note(w, "NOTE-HIDDEN-COMMAND", "code runs text that is written in escapes");
	if (strncmp(code, "rm -", 4) == 0)
		walk_text(w, code, strlen(code));
	for (const char *at = code; *at && w->error == 0; at++) {
		const char *end;

		if (*at != '\'' && *at != '"' && *at != '`')
			continue;
		end = strchr(at + 1, *at);
		if (!end)
			break;
		walk_quoted(w, at + 1, (size_t)(end - at - 1), kind, runs || *at == '`');
		at = end;
	}
	if (has_word(code, sockets) && (runs || strstr(code, "dup2") || strstr(code, "pty")))
		walk_note(w, "NOTE-REVERSE-SHELL",
			arena_printf(
				w->arena, "%.40s ties a shell to a network connection", program));
	else if (has_word(code, sockets))
		walk_opaque(w, "the code opens connections that cannot be known");
	if (has_word(code, evaluating) && (strstr(code, "exec(") || strstr(code, "eval") || runs))
		walk_note(w, "NOTE-DECODED-EXEC",
			arena_printf(w->arena, "%.40s runs text that it decodes first", program));
}
