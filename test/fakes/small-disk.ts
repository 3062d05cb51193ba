import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";

/** A file system of its own, of one MiB; undefined, with a printed reason, where none may be mounted. */
export class SmallDisk {
  readonly folder: string;
  #layers = 1;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async mount(folder: string): Promise<SmallDisk | undefined> {
    await mkdir(folder, { recursive: true });
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "pipe" });
      return new SmallDisk(folder);
    } catch (error) {
      process.stderr.write(`\nskipped: a disk of its own cannot be mounted here (${String(error)})\n`);
      return undefined;
    }
  }

  /** What is opened from now on can be read alone, although files are open for writing. */
  makeReadOnly(): void {
    this.#mount("--bind", this.folder, this.folder);
    this.#mount("-o", "remount,ro,bind", this.folder);
    this.#layers += 1;
  }

  makeWritable(): void {
    this.#removeLayer();
  }

  unmount(): void {
    while (this.#layers > 0) this.#removeLayer();
  }

  #mount(...args: readonly string[]): void {
    execFileSync("mount", args, { stdio: "pipe" });
  }

  /** Also while processes have files open on it. */
  #removeLayer(): void {
    execFileSync("umount", ["-l", this.folder], { stdio: "pipe" });
    this.#layers -= 1;
  }
}
