/** The banner of `start`: URL, keys, SMTP submission ports, and commands that send a first mail. */
import type { FirstRun } from './first-run.ts'

const SANDBOX_NOTE =
  'This is the sandbox: mail goes through the whole system, but stays on this machine (docs/guides/sandbox.md).'
const ENV = 'eval "$(bin/mailstead env)"'
const ADMIN_KEY_HINT = 'none to show; create one: bin/mailstead key create --type admin --workspace'

/** `bold` formats headings. Without a terminal, pass a function that returns its argument. */
export function bannerText(firstRun: FirstRun, bold: (text: string) => string): string {
  const { address, sending, isSandbox, submission } = firstRun
  const lines = [
    '',
    `${bold('Mailstead is ready')} at ${address}`,
    '',
    ...keyLines(firstRun),
    ...(submission === null ? [] : submissionLines(submission)),
    '',
    ...(sending === null
      ? firstSteps(firstRun, bold)
      : [`${bold('Send a mail')}: paste ${firstRun.showsKeys ? 'this line' : 'these lines'}`, '']),
    ...(sending === null ? [] : [...sendingLines(firstRun, address, sending), '']),
    ...(sending === null || submission === null || !firstRun.showsKeys
      ? []
      : [bold('Or by SMTP'), '', smtpLine(submission, sending), '']),
    ...(sending === null || !firstRun.showsKeys ? [] : [`${bold('Variables of all examples')}: ${ENV}`]),
    ...(isSandbox ? [`${bold('See it arrive')}: bin/mailstead inbox --last`, SANDBOX_NOTE, ''] : []),
  ]
  return `${lines.join('\n')}\n`
}

/** Keys are shown by the start that makes them, and afterwards by a command. */
function keyLines({ adminKey, sending, showsKeys, workspaceId }: FirstRun): string[] {
  if (adminKey === null) return [`  Admin key    ${ADMIN_KEY_HINT} ${workspaceId}`]
  if (!showsKeys) return ['  Keys         bin/mailstead env prints them']
  return [`  Admin key    ${adminKey}`, ...(sending === null ? [] : [`  Sending key  ${sending.key}`])]
}

function sendingLines({ showsKeys }: FirstRun, address: string, sending: NonNullable<FirstRun['sending']>): string[] {
  if (showsKeys) return [curlLine(address, sending)]
  const line = curlLine(address, { ...sending, key: 'KEY' })
  return [ENV, line.replace(`'Authorization: Bearer KEY'`, '"Authorization: Bearer $MAILSTEAD_KEY"')]
}

function firstSteps({ workspaceId, isSandbox }: FirstRun, bold: (text: string) => string): string[] {
  const steps = [
    `bin/mailstead domain add --workspace ${workspaceId} example.com`,
    `bin/mailstead domain verify example.com`,
    `bin/mailstead key create --workspace ${workspaceId} --type regular --domain example.com`,
  ]
  const what = isSandbox ? 'create a sending key (the first one was deactivated)' : 'add your own domain'
  return [`${bold('To send')}, ${what}:`, '', ...steps, '']
}

function submissionLines({ host, ports: { plain, alt, tls } }: NonNullable<FirstRun['submission']>): string[] {
  return [
    `  SMTP         ${host}, port ${plain} or ${alt} (STARTTLS), ${tls} (TLS); ` +
      'user name: anything, password: a sending key',
  ]
}

/** Over loopback a key may be sent without TLS, so the certificate does not matter. */
function smtpLine(
  { ports }: NonNullable<FirstRun['submission']>,
  { key, domain }: NonNullable<FirstRun['sending']>,
): string {
  const from = `hello@${domain}`
  const headers = `From: Mailstead <${from}>\\nTo: you@example.com\\nSubject: It works by SMTP`
  const program = [
    'import smtplib',
    `s = smtplib.SMTP("127.0.0.1", ${ports.plain})`,
    `s.login("anything", "${key}")`,
    `s.sendmail("${from}", ["you@example.com"], "${headers}\\n\\nThis mail took the whole path.")`,
  ].join('; ')
  return `python3 -c ${quote(program)}`
}

/** One line for any POSIX shell. */
function curlLine(address: string, sending: { readonly key: string; readonly domain: string }): string {
  const mail = {
    from: `Mailstead <hello@${sending.domain}>`,
    to: 'you@example.com',
    subject: 'It works',
    body: '<h1>Hello</h1><p>This mail took the whole path.</p>',
  }
  const headers = [`Authorization: Bearer ${sending.key}`, 'Content-Type: application/json'].flatMap((header) => [
    '-H',
    header,
  ])
  const words = [`${address}/api/v1/send-email/instant`, ...headers, '-d', JSON.stringify(mail)]
  return `curl -sS ${words.map(quote).join(' ')}`
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
