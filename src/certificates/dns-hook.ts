/**
 * Publishes the TXT record of a DNS-01 challenge with ACME_DNS_COMMAND, and waits until DNS answers it. The command
 * gets what it needs as arguments of a shell, never as a part of the text that the shell reads. It has COMMAND_MS; a
 * command that hangs is killed with all that it started. The record is removed in any case, also when it was never
 * seen.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { environment } from '#config/environment.ts'
import type { Config } from '#config/load.ts'
import { createDomainDns } from '#src/domains/domain-dns.ts'
import type { Log } from '#src/platform/log.ts'
import { runShellCommand } from '#src/platform/shell-command.ts'

const COMMAND_MS = 60_000
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

async function runHook(
  { config }: DnsHookContext,
  action: 'present' | 'cleanup',
  record: string,
  value: string,
): Promise<void> {
  const { acmeDnsCommand } = config
  if (acmeDnsCommand === null) throw new Error('ACME_DNS_COMMAND is missing: dns-01 needs it')
  const result = await runShellCommand({
    command: `${acmeDnsCommand} "$@"`,
    args: [action, record, value],
    env: environment,
    timeoutMs: COMMAND_MS,
  })
  if (!result.ok) throw new Error(`ACME_DNS_COMMAND ${action} ${record} ${result.why}`)
}

async function waitUntilVisible({ config }: DnsHookContext, record: string, value: string): Promise<void> {
  const dns = createDomainDns(config)
  for (const end = performance.now() + VISIBLE_MS; performance.now() < end; await sleep(POLL_MS)) {
    const found = await dns.txt(record)
    if (found.kind === 'answered' && found.records.includes(value)) return
  }
  throw new Error(`ACME_DNS_COMMAND ended well, but DNS does not answer ${record} TXT "${value}"`)
}
