/** An engine that is a package of Python: it is installed from an index, into a virtual environment of its own. */
export interface PythonPackage {
  /** Its name on an index. */
  readonly name: string;
  /** The Pythons that its builds are for, as an index writes them, such as ">=3.10,<3.14". */
  readonly requiresPython: string;
  /** The program in an environment's `bin` folder that is its `Launch.binary`: its own, or python for one that is a module. */
  readonly program: string;
  /** Arguments with which that program loads all that it needs and ends with 0: what a new environment is tried with. */
  readonly selfTest: readonly string[];
  /**
   * An index that has builds of the version for a backend such as cu129 or cpu; left out where there is none beside the
   * package's own index.
   */
  readonly buildsFor?: (version: string, backend: string) => string;
}

/** What a build's program is asked; each is a list of arguments that makes it say something and end. */
export interface EngineProbes {
  readonly version: readonly string[];
  /** Left out: it cannot tell which GPUs it sees. */
  readonly devices?: readonly string[];
}
