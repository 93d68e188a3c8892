/**
 * `mailstead setup`: asks for the settings of an installation, checks them, and writes them to one file that every
 * process reads. With `--answers` it asks nothing. Secrets are generated, unless the answers, the present file or
 * DATA_DIR have them: another master key could not decrypt what is stored.
 *
 * Nothing is written before all settings are valid. An existing file is never changed: with `--replace` it is renamed
 * first. If the process dies between the two, the old file is there under its new name, and nothing reads half a file.
 * What the stores, DNS or the network lack is reported and does not stop the setup: it is often made afterwards.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runAction } from '#bin/cli/actions.ts'
import { type CliAction, type CommandCall, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { guideOf } from '#src/doctor/guides.ts'
import { askQuestions } from '#bin/setup/questions.ts'
import { replaceFile, writeNewFile } from '#bin/setup/settings-file.ts'
import { checkStores, type StoreFinding } from '#bin/setup/stores.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { type Config, loadConfig } from '#config/load.ts'
import { parseSettings, type SavedSettings, settingsFileOf } from '#config/saved-settings.ts'
import { type NamedFinding, runLiveChecks } from '#src/going-live/checks.ts'
import { checkFirstRequest, createRequestDeps, type RequestFinding } from '#src/going-live/first-request.ts'
import { systemClock } from '#src/platform/clock.ts'

/** 32 bytes in hex; the file that has it if the installation has been started before. */
const SECRETS = [
  ['MASTER_KEY', 'master.key'],
  ['ADMIN_TOKEN', 'admin.token'],
] as const

const ACTION: CliAction = {
  summary: 'ask for the settings of a live installation, check and write them',
  examples: ['', '--answers answers.env', '--answers answers.env --replace'],
  usage: '[--answers FILE|-] [--replace]',
  options: ['answers'],
  flags: ['replace'],
  run: runSetup,
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('setup', ACTION, args, io)
}

async function runSetup(call: CommandCall): Promise<number> {
  const file = settingsFileOf(call.io.env)
  if (file === null)
    throw new UsageError('SETTINGS_FILE is none, so there is no file to write: unset it, or name a file')
  const isThere = existsSync(file)
  if (isThere && !call.has('replace'))
    return call.fail(`${file} exists and was not changed.`, 'Add --replace to write a new one and keep the old one.')
  const old = isThere ? parseSettings(readFileSync(file, 'utf8'), file) : {}
  const answers = readAnswers(call) ?? (await askQuestions(call.io, old))
  const settings = { ...old, ...answers }
  const config = loadConfig({ ...settings, DATA_DIR: settings['DATA_DIR'] ?? call.io.env['DATA_DIR'] })
  const complete = withSecrets(settings, call.io.env, config)
  const text = settingsText(complete)
  const kept = isThere ? replaceFile(file, text) : null
  if (!isThere) writeNewFile(file, text)
  const findings = [...(await checkStores(config)), ...(config.isLive ? await checkLive(config) : [])]
  return report(call, { file, kept, findings })
}

async function checkLive(config: Config): Promise<(NamedFinding | RequestFinding)[]> {
  return [
    ...(await checkFirstRequest(createRequestDeps(config))),
    ...(await runLiveChecks({ config, clock: systemClock, hasSources: false, certificates: [] })),
  ]
}

/** The answers of `--answers`; null if a person is to be asked. */
function readAnswers(call: CommandCall): SavedSettings | null {
  const name = call.option('answers')
  if (name === null) return null
  try {
    return parseSettings(readFileSync(name === '-' ? 0 : name, 'utf8'), '--answers')
  } catch (error) {
    if (error instanceof Error && 'code' in error)
      throw new UserError(`--answers cannot be read (${error.message}).`, 'Check the name of the file.')
    throw error
  }
}

/** A package sets MASTER_KEY_FILE in the environment (packaging/debian/mailstead). */
function withSecrets(settings: SavedSettings, env: NodeJS.ProcessEnv, { dataDir }: Config): SavedSettings {
  const missing = SECRETS.filter(
    ([name, file]) =>
      [name, `${name}_FILE`, `${name}_COMMAND`].every(
        (one) => settings[one] === undefined && (env[one] ?? '') === '',
      ) && !existsSync(join(dataDir, file)),
  )
  return { ...settings, ...Object.fromEntries(missing.map(([name]) => [name, randomBytes(32).toString('hex')])) }
}

function settingsText(settings: SavedSettings): string {
  const lines = Object.entries(settings)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${value}`)
  return `# Written by mailstead setup. It has secrets: keep a copy in a safe place.\n${lines.join('\n')}\n`
}

interface SetupResult {
  readonly file: string
  readonly kept: string | null
  readonly findings: readonly (NamedFinding | RequestFinding | StoreFinding)[]
}

function report(call: CommandCall, { file, kept, findings }: SetupResult): number {
  const rows = findings.flatMap(({ status, name, detail, todo }) => [
    [status, name, detail],
    ...(todo === '' ? [] : [['', '', `→ ${todo} (${guideOf(name)})`]]),
  ])
  const held = findings.some((one) => one.status === 'failed' && 'holds' in one && one.holds)
  const text = [
    `${file} is written, readable by its owner only.`,
    ...(kept === null ? [] : [`The old file is ${kept}.`]),
    ...(rows.length === 0 ? [] : ['', tableText(['RESULT', 'CHECK', 'FINDING'], rows)]),
    '',
    ...(held ? ['Campaigns are held back until what failed is fixed; other mail is sent.'] : []),
    'Start Mailstead, or restart it, and check it: mailstead doctor',
  ]
  return call.respond(text.join('\n'), { file, kept, campaigns_held_back: held, checks: findings })
}
