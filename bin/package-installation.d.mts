interface Installation {
  readonly code: number | null
  readonly output: string
}

export function installPackages(root: string, env: Readonly<Record<string, string | undefined>>): Promise<Installation>
export function addAddresses(lock: string, settings: Readonly<Record<string, unknown>>): string
