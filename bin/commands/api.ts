/** `mailstead api`: runs the REST API and pages in this process. */
import { main } from '#api/main.ts'
import { runRoles } from './restricted-role.ts'

export async function run(): Promise<number> {
  return runRoles('api', ['api'], ({ config, onOpened }) => main(config, { onOpened }))
}
