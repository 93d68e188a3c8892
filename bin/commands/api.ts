/** `mailstead api`: runs the REST API and pages in this process. */
import { main } from '#api/main.ts'
import { attachStores } from '#bin/supervisor/stores.ts'
import { loadConfig } from '#config/load.ts'
import { runRole } from './role.ts'

export async function run(): Promise<number> {
  const config = attachStores(loadConfig())
  return runRole('api', config.dataDir, () => main(config))
}
