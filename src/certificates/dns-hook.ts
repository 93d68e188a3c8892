/**
 * Publishes the TXT record of a DNS-01 challenge with ACME_DNS_COMMAND, and waits until DNS answers it. The command
 * gets what it needs as arguments of a shell, never as a part of the text that the shell reads. It has COMMAND_MS; a
 * command that hangs is killed. The record is removed in any case, also when it was never seen.
 */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '#config/load.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import type { Log } from '#src/platform/log.ts'

const COMMAND_MS = 60_000
const MAX_OUTPUT_BYTES = 64 * 1024
/** How long a provider may need until its servers answer the record. */
const VISIBLE_MS = 180_000
const POLL_MS = 2000

export interface DnsHookContext {
  readonly config: Pick<Config, 'acmeDnsCommand' | 'dnsServers'>
  readonly log: Log
}

/** The name of the TXT record (RFC 8555 8.4). */
function challengeName(name: string): string {
  return `_acme-challenge.${name}`
}

/** Resolves when DNS answers the record. Returns how to remove it. @throws if the command fails, or nothing is seen. */
export async function publishRecord(ctx: DnsHookContext, name: string, value: string): Promise<() => Promise<void>> {
  const record = challengeName(name)
  const remove = (): Promise<void> =>
    runHook(ctx, 'cleanup', record, value).catch((error: unknown) =>
      ctx.log.warn({ err: error, record }, 'failed to remove the TXT record of a challenge; remove it by hand'),
    )
  try {
    await runHook(ctx, 'present', record, value)
    await waitUntilVisible(ctx, record, value)
  } catch (error) {
    await remove()
    throw error
  }
  return remove
}

function runHook(
  { config }: DnsHookContext,
  action: 'present' | 'cleanup',
  record: string,
  value: string,
): Promise<void> {
  const { acmeDnsCommand } = config
  if (acmeDnsCommand === null) throw new Error('ACME_DNS_COMMAND is missing: dns-01 needs it')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const options = { timeout: COMMAND_MS, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES } as const
  execFile('/bin/sh', ['-c', `${acmeDnsCommand} "$@"`, 'sh', action, record, value], options, (error, _out, err) => {
    if (error === null) return resolve()
    // the message of the error contains the command, which may contain a password
    const why =
      error.killed === true ? `did not end within ${COMMAND_MS / 1000} s` : `ended with ${error.code ?? 'a signal'}`
    reject(new Error(`ACME_DNS_COMMAND ${action} ${record} ${why}${err.trim() === '' ? '' : `: ${lastLine(err)}`}`))
  })
  return promise
}

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').slice(0, 300)
}

async function waitUntilVisible({ config }: DnsHookContext, record: string, value: string): Promise<void> {
  const dns = createDomainDns(config)
  for (const end = performance.now() + VISIBLE_MS; performance.now() < end; await sleep(POLL_MS)) {
    const found = await dns.txt(record)
    if (found.kind === 'answered' && found.records.includes(value)) return
  }
  throw new Error(`ACME_DNS_COMMAND ended well, but DNS does not answer ${record} TXT "${value}"`)
}
