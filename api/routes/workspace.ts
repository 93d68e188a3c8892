/** The workspace: its plan, limits and usage, with either kind of key, and its name, which people change. */
import { z } from 'zod'
import type { Config } from '#config/load.ts'
import { MAX_ADMIN_KEYS } from '#src/auth/keys.ts'
import { readPorts } from '#src/net/submission-ports.ts'
import { refuse } from '#src/platform/errors.ts'
import { defaultPeriods, readPeriods } from '#src/retention/periods.ts'
import { nextMonth, readUsage } from '#src/workspaces/usage.ts'
import { changeWorkspace } from '#src/workspaces/workspaces.ts'
import { planOf } from '#api/http/context.ts'
import { route } from '#api/http/route.ts'
import { envelope, timestamp } from '#api/http/response-schemas.ts'
import { workspaceName } from './own-workspaces.ts'

const count = z.int().min(0)

/** The ports of this machine; those of the settings if submission runs on another one. */
function smtpOf(config: Config): Record<string, unknown> {
  const { submissionPort: plain, submissionTlsPort: tls, submissionAltPort: alt } = config
  const ports = readPorts(config) ?? { plain, tls, alt }
  return {
    host: config.isSandbox ? new URL(config.publicUrl).hostname : config.serverName,
    starttls_port: ports.plain,
    tls_port: ports.tls,
    alternative_port: ports.alt,
  }
}

const NO_WORKSPACE = refuse('NOT_FOUND', 'The workspace no longer exists. Ask the operator of this service.')

export const getWorkspace = route({
  name: 'get-workspace',
  summary: 'Get the plan, quota and keys of the workspace',
  method: 'GET',
  paths: ['/public/workspace', '/workspace', '/public/workspace/usage'],
  access: 'any',
  status: 200,
  response: envelope(
    z.object({
      id: z.uuid(),
      name: z.string(),
      plan: z.string(),
      features: z.object({ scheduling: z.boolean() }),
      quota: z.object({
        limit: count.nullable().meta({ description: 'recipients in a calendar month (UTC); null: no limit' }),
        used: count,
        remaining: count.nullable(),
        resets_at: timestamp,
      }),
      request_rate: z.object({ per_second: z.number().nullable() }),
      retention: z.object({
        bodies_days: count.meta({ description: 'days that texts and attachments of sent mail are stored' }),
        events_days: count.meta({ description: 'days that events and SMTP dialogs are stored' }),
        messages_days: count.meta({ description: 'days that senders, recipients, subjects and results are stored' }),
      }),
      domains: z.object({ limit: count.nullable() }),
      keys: z.object({ admin: count, admin_limit: count, regular: count }),
      capture: z.object({
        address: z
          .string()
          .meta({ description: 'mail to this address is captured instead of delivered: see get-captured-emails' }),
        domain: z.string().meta({ description: 'mail to any address of this domain is captured too' }),
      }),
      smtp: z
        .object({
          host: z.string(),
          starttls_port: z.int().meta({ description: 'the port with STARTTLS' }),
          tls_port: z.int().meta({ description: 'the port with TLS from the first byte' }),
          alternative_port: z.int().meta({ description: 'with STARTTLS, for networks that block the first port' }),
        })
        .meta({
          description: 'for programs that submit by SMTP: a Regular key is the password, the user name is free',
        }),
      created_at: timestamp,
    }),
  ),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller }) => {
    const now = new Date(ctx.clock.now())
    const usage = await readUsage(ctx.db, caller.workspaceId, now)
    if (usage === null) return NO_WORKSPACE
    const { name, keyPart, used, adminKeys, regularKeys, createdAt } = usage
    const { monthlyQuota, requestsPerSecond, maxDomains, isLaunch } = planOf(ctx, caller.plan)
    const retention = await readPeriods(ctx.db, defaultPeriods(ctx.config), caller.workspaceId)
    const { bodies, events, messages } = retention ?? defaultPeriods(ctx.config)
    const remaining = monthlyQuota === null ? null : Math.max(0, monthlyQuota - used)
    const data = {
      id: caller.workspaceId,
      name,
      plan: caller.plan,
      features: { scheduling: isLaunch },
      quota: { limit: monthlyQuota, used, remaining, resets_at: nextMonth(now).toISOString() },
      request_rate: { per_second: requestsPerSecond },
      retention: { bodies_days: bodies, events_days: events, messages_days: messages },
      domains: { limit: maxDomains },
      keys: { admin: adminKeys, admin_limit: MAX_ADMIN_KEYS, regular: regularKeys },
      capture: { address: `${keyPart}@${ctx.config.captureDomain}`, domain: ctx.config.captureDomain },
      smtp: smtpOf(ctx.config),
      created_at: createdAt.toISOString(),
    }
    return { body: { success: true, message: `The workspace is on the plan ${caller.plan}.`, data } }
  },
})

export const changeOwnWorkspace = route({
  name: 'change-workspace',
  summary: 'Change the name of the workspace',
  method: 'PATCH',
  paths: ['/public/workspace'],
  access: 'member',
  body: z.object({ name: workspaceName }).meta({ examples: [{ name: 'Acme' }] }),
  status: 200,
  response: envelope(z.object({ id: z.uuid(), name: z.string() })).meta({ id: 'ChangeWorkspaceAnswer' }),
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller: { workspaceId }, body: { name } }) => {
    const changed = await changeWorkspace(ctx.db, workspaceId, { name, plan: null })
    if (changed === null) return NO_WORKSPACE
    return { body: { success: true, message: 'The workspace is renamed.', data: { id: changed.id, name } } }
  },
})
