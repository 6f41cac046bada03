// A disk of its own for a browser profile, which can lose its power and run full: a file with a file system in it. Only root may mount it.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const run = (command, ...args) => execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } });

/** FS_IOC_SHUTDOWN, without a flush of the journal: what has not reached the disk never will. Perl is part of every Debian. */
const SHUTDOWN = 'open(my $disk, "<", $ARGV[0]) or die "$!"; my $flags = pack("L", 2); ioctl($disk, 0x8004587d, $flags) or die "$!"';

const MEGABYTE = 2 ** 20;

export class Disk {
  #base = mkdtempSync(join(tmpdir(), "turnmark-disk-"));
  #image = join(this.#base, "image");
  folder = join(this.#base, "mounted");
  #isMounted = false;
  #fillers = 0;
  #onExit = () => this.#remove();

  /** A new one that holds so many megabytes. */
  constructor(megabytes = 400) {
    process.once("exit", this.#onExit);
    mkdirSync(this.folder);
    run("truncate", "-s", `${megabytes}M`, this.#image);
    run("mkfs.ext4", "-q", "-F", this.#image);
    this.#mount();
  }

  #mount() {
    run("mount", "-o", "loop", this.#image, this.folder);
    this.#isMounted = true;
  }

  /** A power cut: at once nothing is written any more, and nothing that was on its way arrives. */
  shutDown() {
    run("perl", "-e", SHUTDOWN, this.folder);
  }

  /** The power is back. Whatever had the disk open must have ended. */
  async restart() {
    await this.#unmount();
    this.#mount();
  }

  async #unmount() {
    for (let left = 100; ; left -= 1) {
      try {
        run("umount", this.folder);
        this.#isMounted = false;
        return;
      } catch (error) {
        // What was killed is not always gone at once.
        if (left === 0) throw error;
        await sleep(50);
      }
    }
  }

  /** Takes every free byte. */
  fill() {
    for (let size = 256 * MEGABYTE; size >= 4096; ) {
      const filler = join(this.folder, `filler-${(this.#fillers += 1)}`);
      try {
        run("fallocate", "-l", String(size), filler);
      } catch {
        rmSync(filler, { force: true });
        size /= 2;
      }
    }
  }

  /** Gives it all back. */
  clear() {
    for (const name of readdirSync(this.folder)) if (name.startsWith("filler-")) rmSync(join(this.folder, name));
  }

  async close() {
    if (this.#isMounted) await this.#unmount();
    this.#remove();
  }

  #remove() {
    process.off("exit", this.#onExit);
    if (this.#isMounted) run("umount", "-l", this.folder);
    this.#isMounted = false;
    rmSync(this.#base, { recursive: true, force: true });
  }
}

/** Why there can be no such disk here; false where there can. */
export async function missing() {
  try {
    const disk = new Disk(8);
    disk.shutDown();
    await disk.restart();
    await disk.close();
    return false;
  } catch (error) {
    return `skipped: no disk can be made here to cut its power (that takes root, loop mounts, ext4 and perl): ${String(error.stderr || error.message).trim()}`;
  }
}
