/**
 * Directs a test's context to a built-in receiver that runs in the test, which has opened its ports itself. No port is
 * chosen in advance, so tests that run at the same time cannot choose the same one.
 */
import { loadConfig } from '#config/load.ts'
import type { Sandbox } from '#mta/sandbox/sandbox.ts'
import type { Context } from '#src/context.ts'

/** The settings of a sandbox on free ports. */
export const ANY_PORTS = { SANDBOX_DNS_PORT: '0', SANDBOX_SMTP_PORT: '0' } as const

/** The context with the ports of `sandbox`; `env` has the other settings. */
export function connectToSandbox<C extends Context>(ctx: C, sandbox: Sandbox, env: Record<string, string>): C {
  const { dnsServers, smtpOutPort, sandboxDnsPort, sandboxSmtpPort } = loadConfig({
    ...env,
    SANDBOX_DNS_PORT: String(sandbox.dnsPort),
    SANDBOX_SMTP_PORT: String(sandbox.smtpPort),
  })
  return { ...ctx, config: { ...ctx.config, dnsServers, smtpOutPort, sandboxDnsPort, sandboxSmtpPort } }
}
