/** What the first `start` makes, and what every `start` prints. */
import type { StoreUrls } from '#bin/supervisor/stores.ts'
import type { Config } from '#config/load.ts'

interface FirstRun { readonly address: string }

export async function provision(config: Config & StoreUrls): Promise<FirstRun> {
  return Promise.resolve({ address: config.publicUrl })
}

export function printBanner({ address }: FirstRun): void {
  process.stdout.write(`Mailstead runs at ${address}\n`)
}
