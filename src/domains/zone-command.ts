/**
 * Runs DKIM_ZONE_COMMAND with changes of the zone on its standard input, one a line. It succeeded if it ends with 0
 * within 30 seconds; otherwise it and what it started is killed. It gets no secret of this process: only PATH, HOME and
 * the locale. The last line of its error output says why it failed.
 */
import { environment } from '#config/environment.ts'
import { runShellCommand } from '#src/platform/shell-command.ts'
import { quotedValue, type ZoneChange } from './dkim-zone.ts'
import { sanitizeText } from './record-finding.ts'

export type CommandResult = { readonly ok: true } | { readonly ok: false; readonly problem: string }

const TIMEOUT_MS = 30_000
const PASSED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

/** `set NAME TTL "VALUE"…` or `remove NAME`. Names are absolute, with a final dot. */
export function changeLine({ name, value }: Pick<ZoneChange, 'name' | 'value'>, ttlSeconds: number): string {
  return value === null ? `remove ${name}.` : `set ${name}. ${ttlSeconds} ${quotedValue(value)}`
}

export async function runZoneCommand(
  command: string,
  changes: readonly ZoneChange[],
  ttlSeconds: number,
  timeoutMs = TIMEOUT_MS,
): Promise<CommandResult> {
  const env = Object.fromEntries(PASSED.map((name) => [name, environment[name]]))
  const input = changes.map((change) => `${changeLine(change, ttlSeconds)}\n`).join('')
  const result = await runShellCommand({ command, input, env, timeoutMs })
  return result.ok ? result : { ok: false, problem: sanitizeText(`the command ${result.why}`) }
}
