/** `mailstead mta [--roles a,b]`: mail transfer in this process; the outbound role when none is named. */
import { parseArgs } from 'node:util'
import { attachStores } from '#bin/supervisor/stores.ts'
import { loadConfig } from '#config/load.ts'
import { main, ROLE_NAMES } from '#mta/main.ts'
import { runRole } from './role.ts'

const USUAL = 'outbound'

export async function run(args: string[]): Promise<number> {
  const roles = readRoles(args)
  if (typeof roles === 'string') {
    process.stderr.write(`mailstead mta: ${roles}\nUsage: mailstead mta [--roles ${ROLE_NAMES.join(',')}]\n`)
    return 2
  }
  const config = attachStores(loadConfig())
  return runRole(nameOf(roles), config.dataDir, (stop) => main(config, roles, stop))
}

/** The roles, or what is wrong with the arguments. */
function readRoles(args: string[]): string[] | string {
  try {
    const { values } = parseArgs({ args, options: { roles: { type: 'string', default: USUAL } } })
    const roles = values.roles
      .split(',')
      .map((role) => role.trim())
      .filter((role) => role !== '')
    const unknown = roles.find((role) => !ROLE_NAMES.includes(role))
    if (unknown !== undefined) return `there is no role ${JSON.stringify(unknown)}`
    return roles.length === 0 ? 'no role given' : roles
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Of the process and its pid file: several may run on one machine. */
function nameOf(roles: readonly string[]): string {
  if (roles.join(',') === USUAL) return 'mta'
  return roles.join('-') === 'sandbox' ? 'sandbox' : `mta-${roles.join('-')}`
}
