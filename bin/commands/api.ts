/** `mailstead api`: runs the REST API and pages in this process. */
import { main } from '#api/main.ts'
import { runRoles } from './restricted-role.ts'
import { refuseArguments } from '#bin/cli/no-arguments.ts'

export async function run(args: readonly string[]): Promise<number> {
  return refuseArguments('api', args) ?? runRoles('api', ['api'], ({ config, onOpened }) => main(config, { onOpened }))
}
