/**
 * `mailstead mta [--roles a,b]`: runs mail transfer roles in this process; by default the outbound role. `start` adds
 * `--any-port` for the built-in receiver, and gives the ports that it reports to the other roles. It numbers the
 * outbound processes from the second on with `--number`, so that each has a pid file of its own.
 */
import { parseArgs } from 'node:util'
import { main, ROLE_NAMES } from '#mta/main.ts'
import { KEY_ROLES, type KeyRole } from '#src/crypto/purposes.ts'
import { lowerPoolPriority } from '#bin/service/thread-pool.ts'
import { runRoles } from './restricted-role.ts'
import { meantText } from '#src/platform/choice-text.ts'

const DEFAULT_ROLE = 'outbound'

export async function run(args: string[]): Promise<number> {
  const options = readOptions(args)
  if (typeof options === 'string') {
    process.stderr.write(`mailstead mta: ${options}\nUsage: mailstead mta [--roles ${ROLE_NAMES.join(',')}]\n`)
    return 2
  }
  const { roles, anyPort, number } = options
  if (roles.includes(DEFAULT_ROLE)) await lowerPoolPriority()
  return runRoles(processName(roles, number), roles, ({ config, stop, onOpened }) =>
    main(config, roles, { stop, anyPort, onOpened }),
  )
}

interface Options {
  readonly roles: readonly KeyRole[]
  readonly anyPort: boolean
  /** 1 unless several processes have the same roles. */
  readonly number: number
}

/** Returns the options, or what is wrong with the arguments. */
function readOptions(args: string[]): Options | string {
  try {
    const { values } = parseArgs({
      args,
      options: {
        roles: { type: 'string', default: DEFAULT_ROLE },
        'any-port': { type: 'boolean', default: false },
        number: { type: 'string', default: '1' },
      },
    })
    const roles = values.roles
      .split(',')
      .map((role) => role.trim())
      .filter((role) => role !== '')
    const unknown = roles.find((role) => !ROLE_NAMES.includes(role))
    if (unknown !== undefined) return `unknown role ${JSON.stringify(unknown)}${meantText(ROLE_NAMES, unknown)}`
    const known = roles.flatMap((name) => KEY_ROLES.find((role) => role === name) ?? [])
    const number = Number(values.number)
    if (!Number.isInteger(number) || number < 1) return `--number ${values.number}: not a number from 1`
    return known.length === 0 ? 'no role given' : { roles: known, anyPort: values['any-port'], number }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The name of the process and of its pid file, since several may run on one machine. */
function processName(roles: readonly string[], number: number): string {
  const joined = roles.join('-')
  const name = joined === DEFAULT_ROLE ? 'mta' : joined === 'sandbox' ? 'sandbox' : `mta-${joined}`
  return number === 1 ? name : `${name}-${number}`
}
