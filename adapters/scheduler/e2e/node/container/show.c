// The program of the pods: writes what it was given, line by line, and waits until it is told to end.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void end(int signal_number) {
    (void)signal_number;
    _exit(0);
}

// Of each mount: where it is, what is there of the file system that it is taken from, and whether it may be written to.
static void show_mounts(void) {
    FILE* file = fopen("/proc/self/mountinfo", "r");
    if (!file) {
        printf("error /proc/self/mountinfo: %s\n", strerror(errno));
        return;
    }
    char line[4096], root[2048], target[2048], options[256];
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%*s %*s %*s %2047s %2047s %255s", root, target, options) == 3) {
            printf("mount %s %s %s\n", target, root, strncmp(options, "ro", 2) == 0 ? "ro" : "rw");
        }
    }
    fclose(file);
}

// Runs a program of the image. What /etc/ld.so.preload names is loaded into it, as it is linked dynamically and this
// one is not.
static void run(const char* program) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, (char*)0);
        printf("error %s: %s\n", program, strerror(errno));
        fflush(stdout);
        _exit(1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        printf("error %s: %s\n", program, strerror(errno));
    } else if (status != 0) {
        printf("error %s: status %d\n", program, status);
    }
}

int main(void) {
    signal(SIGTERM, end);
    signal(SIGINT, end);
    for (char** variable = environ; *variable; variable++) {
        printf("env %s\n", *variable);
    }
    show_mounts();
    run("/nvidia-smi");
    run("/cuda");
    puts("end");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
