/**
 * `mailstead env`: the variables that the examples of the documentation use, as commands for a shell. The keys are
 * those that the first `start` made. Every user who may read DATA_DIR may read them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandIo } from '#bin/cli/call.ts'
import { attachStores } from '#bin/supervisor/stores.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { type FirstRun, provision } from './first-run.ts'

const RECIPIENT = 'anna@example.com'

const ACTION: CliAction = {
  summary: 'print the variables of the examples, with the first keys',
  usage: '',
  examples: ['', '--json'],
  run: async (call) => {
    const config = attachStores(loadConfig(call.io.env))
    const values = listVariables(await provision(config), readOperatorToken(config))
    const lines = Object.entries(values).map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`)
    return call.respond(lines.join('\n'), values)
  },
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('env', ACTION, args, io)
}

/** Only what exists: outside the sandbox there is no sending key. */
function listVariables(
  { address, adminKey, sending, submission }: FirstRun,
  operatorToken: string | null,
): Record<string, string> {
  const values = {
    MAILSTEAD_URL: address,
    MAILSTEAD_KEY: sending?.key,
    MAILSTEAD_ADMIN_KEY: adminKey,
    MAILSTEAD_ADMIN_TOKEN: operatorToken,
    MAILSTEAD_FROM: sending === null ? null : `hello@${sending.domain}`,
    MAILSTEAD_TO: RECIPIENT,
    MAILSTEAD_SMTP_HOST: submission?.host,
    MAILSTEAD_SMTP_PORT: submission === null ? null : String(submission.ports.plain),
  }
  const present = Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return Object.fromEntries(present)
}

/** Null if it is a hash, or not generated yet. */
function readOperatorToken({ adminToken, dataDir }: Config): string | null {
  if (adminToken !== null) return adminToken.startsWith('sha256:') ? null : adminToken
  try {
    return readFileSync(join(dataDir, 'admin.token'), 'utf8').trim()
  } catch {
    return null
  }
}
