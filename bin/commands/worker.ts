/** `mailstead worker`: runs webhooks, checks and housekeeping in this process. */
import { attachStores } from '#bin/supervisor/stores.ts'
import { loadConfig } from '#config/load.ts'
import { main } from '#worker/main.ts'
import { runRole } from './role.ts'

export async function run(): Promise<number> {
  const config = attachStores(loadConfig())
  return runRole('worker', config.dataDir, () => main(config))
}
