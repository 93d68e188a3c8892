/**
 * The questions of `mailstead setup`, on a terminal. Each answer is checked when it is given, and asked for again if it
 * is not valid; an empty answer keeps the value in brackets. At the end of input nothing has been written.
 */
import { createInterface, type Interface } from 'node:readline/promises'
import type { CommandIo } from '#bin/cli/call.ts'
import { isPackage } from '#bin/supervisor/package-layout.ts'
import { UserError } from '#bin/supervisor/user-error.ts'
import { isPublicName } from '#config/load.ts'
import type { SavedSettings } from '#config/saved-settings.ts'
import { SETTINGS, type Setting } from '#config/schema.ts'

interface Question {
  readonly setting: keyof typeof SETTINGS
  readonly text: string
  /** The answer to an empty line. */
  readonly suggest?: (answers: SavedSettings) => string
}

const QUESTIONS: readonly Question[] = [
  { setting: 'mode', text: 'Mode: live sends mail to the internet, sandbox keeps it here', suggest: () => 'live' },
  { setting: 'hostname', text: 'Public name of this server, as its PTR record has it' },
  {
    setting: 'bounceDomain',
    text: 'Domain of the return-path; its MX leads to this server',
    suggest: ({ MAILSTEAD_HOSTNAME: name = '' }) => (name === '' ? '' : `bounces.${name}`),
  },
  {
    setting: 'publicUrl',
    text: 'Public https URL of the API and of unsubscribe links',
    suggest: ({ MAILSTEAD_HOSTNAME: name = '' }) => (name === '' ? '' : `https://${name}`),
  },
  {
    setting: 'acmeChallenge',
    text: 'Request certificates automatically (http-01, tls-alpn-01, dns-01), or off for files or a proxy',
    suggest: () => 'off',
  },
  { setting: 'acmeEmail', text: 'Address for messages of the certificate authority; empty: none' },
  { setting: 'acmeDnsCommand', text: 'Command that publishes TXT records' },
  { setting: 'httpsPort', text: 'Port of the API with https; empty: a proxy in front has it', suggest: () => '443' },
  { setting: 'httpRedirectPort', text: 'Port that redirects to https and answers http-01', suggest: () => '80' },
  { setting: 'trustProxy', text: 'Number of proxies in front of the API; empty: none' },
  { setting: 'tlsCertFile', text: 'Certificate for SMTP, a PEM file; empty: self-signed' },
  { setting: 'tlsKeyFile', text: 'Key of that certificate' },
  { setting: 'databaseUrl', text: 'URL of your PostgreSQL' },
  { setting: 'redisUrl', text: 'URL of your Redis' },
]

/** @throws UserError if there is no terminal. */
export async function askQuestions(io: CommandIo, old: SavedSettings): Promise<SavedSettings> {
  if (!process.stdin.isTTY)
    throw new UserError('There is no terminal to ask on.', 'Give the answers in a file: mailstead setup --answers FILE')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answers: Record<string, string> = {}
    for (const question of QUESTIONS) {
      const { env } = SETTINGS[question.setting]
      if (question.setting !== 'mode' && answers['MODE'] === 'sandbox') break
      if (!isAsked(question.setting, answers)) continue
      const known = old[env] ?? ''
      const usual = isPlaceholder(known) ? '' : known || (question.suggest?.(answers) ?? '')
      answers[env] = await ask(terminal, io, question, usual)
    }
    return answers
  } finally {
    terminal.close()
  }
}

/** Whether the answers before leave the question open. */
function isAsked(setting: keyof typeof SETTINGS, answers: SavedSettings): boolean {
  const challenge = answers['ACME_CHALLENGE'] ?? 'off'
  const conditions: Partial<Record<keyof typeof SETTINGS, boolean>> = {
    acmeEmail: challenge !== 'off',
    acmeDnsCommand: challenge === 'dns-01',
    httpsPort: challenge !== 'off',
    httpRedirectPort: challenge !== 'off' && (answers['HTTPS_PORT'] ?? '') !== '',
    trustProxy: (answers['HTTPS_PORT'] ?? '') === '',
    tlsCertFile: challenge === 'off',
    tlsKeyFile: (answers['TLS_CERT_FILE'] ?? '') !== '',
  }
  return conditions[setting] ?? true
}

async function ask(terminal: Interface, io: CommandIo, { setting, text }: Question, usual: string): Promise<string> {
  const row: Setting<unknown> = SETTINGS[setting]
  for (;;) {
    const answer = (await terminal.question(`${text}${hintOf(setting, usual)}: `)).trim() || usual
    const problem = problemOf(row, setting, answer)
    if (problem === null) return answer
    io.err(`  ${row.env} must be ${problem}\n`)
  }
}

/** What an empty answer means. A terminal may be recorded, so a password in a URL is not shown. */
export function hintOf(setting: keyof typeof SETTINGS, usual: string): string {
  if (usual !== '') return ` [${usual.replace(/^(\w+:\/\/[^/@:]*):[^/@]*@/, '$1:…@')}]`
  return isStore(setting) && !isPackage() ? '; empty: the embedded one' : ''
}

function isStore(setting: keyof typeof SETTINGS): boolean {
  return setting === 'databaseUrl' || setting === 'redisUrl'
}

/** As in the file that a package installs: `postgres://mailstead:PASSWORD@…`. */
function isPlaceholder(value: string): boolean {
  return value.includes(':PASSWORD@')
}

/** Why an answer is refused; null if it is accepted. */
export function problemOf(row: Setting<unknown>, setting: keyof typeof SETTINGS, answer: string): string | null {
  if (setting === 'hostname') return isPublicName(answer) ? null : 'a public name, such as mail.example.com'
  if (answer === '') return isStore(setting) && isPackage() ? 'a URL: a package contains no stores' : null
  try {
    row.read(answer)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
