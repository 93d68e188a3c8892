/** What `start` says when all is ready: the address, the keys, where mail is handed in by SMTP, and lines that send a mail. */
import type { FirstRun } from './first-run.ts'

const SANDBOX = 'This is the sandbox: mail takes the whole path and stays on this machine (docs/guides/sandbox.md).'
const NO_ADMIN_KEY = 'none to show; make one: bin/mailstead key create --type admin --workspace'

/** `bold` marks what matters; give a function that changes nothing where nobody looks at a terminal. */
export function bannerText(firstRun: FirstRun, bold: (text: string) => string): string {
  const { address, workspaceId, sending, adminKey, isSandbox, submission } = firstRun
  const lines = [
    '',
    `${bold('Mailstead is ready')} at ${address}`,
    '',
    `  Admin key    ${adminKey ?? `${NO_ADMIN_KEY} ${workspaceId}`}`,
    ...(sending === null ? [] : [`  Sending key  ${sending.key}`]),
    ...(submission === null ? [] : submissionLines(submission)),
    '',
    ...(sending === null
      ? howToBegin(firstRun, bold)
      : [`${bold('Send a mail')}: paste this line`, '', curlLine(address, sending), '']),
    ...(sending === null || submission === null ? [] : [bold('Or by SMTP'), '', smtpLine(submission, sending), '']),
    ...(isSandbox ? [`${bold('See it arrive')}: bin/mailstead inbox --last`, SANDBOX, ''] : []),
  ]
  return `${lines.join('\n')}\n`
}

function howToBegin({ workspaceId, isSandbox }: FirstRun, bold: (text: string) => string): string[] {
  const steps = [
    `bin/mailstead domain add --workspace ${workspaceId} example.com`,
    `bin/mailstead domain verify example.com`,
    `bin/mailstead key create --workspace ${workspaceId} --type regular --domain example.com`,
  ]
  const what = isSandbox ? 'make a sending key (the first one does not work any more)' : 'add a domain of yours'
  return [`${bold('To send')}, ${what}:`, '', ...steps, '']
}

function submissionLines({ host, ports: { plain, alt, tls } }: NonNullable<FirstRun['submission']>): string[] {
  return [
    `  SMTP         ${host}, port ${plain} or ${alt} (STARTTLS), ${tls} (TLS); user name: anything, password: a sending key`,
  ]
}

/** Over loopback a key may go without TLS, whoever's certificate it is. */
function smtpLine(
  { ports }: NonNullable<FirstRun['submission']>,
  { key, domain }: NonNullable<FirstRun['sending']>,
): string {
  const from = `hello@${domain}`
  const mail = `From: Mailstead <${from}>\\nTo: you@example.com\\nSubject: It works by SMTP\\n\\nThis mail took the whole path.`
  const program = `import smtplib; s = smtplib.SMTP("127.0.0.1", ${ports.plain}); s.login("anything", "${key}"); s.sendmail("${from}", ["you@example.com"], "${mail}")`
  return `python3 -c ${quote(program)}`
}

/** One line that any POSIX shell takes as it is. */
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
