/** The operator's TLS rules for recipient domains. The command line has the same: `mailstead tls`. */
import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { listTlsRules, removeTlsRule, setTlsRule, TLS_LEVELS } from '#src/operator/tls-rules.ts'
import { refuse } from '#src/platform/errors.ts'
import { envelope, plainResponse } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { countText } from '#src/platform/plural.ts'

const level = z.enum(TLS_LEVELS).meta({
  description: '`required`: TLS or no delivery; `opportunistic`: ignores what the domain publishes about TLS',
})
const params = z.object({
  domain: z
    .string()
    .max(253, 'is too long')
    .transform((text, sink) => {
      const domain = domainToASCII(text)
      if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/.test(domain)) sink.addIssue({ code: 'custom', message: 'is not a domain' })
      return domain
    })
    .meta({ description: 'a recipient domain' }),
})

const list = route({
  name: 'admin-list-tls-rules',
  summary: 'List the TLS rules; without one, what a domain publishes (DANE, MTA-STS) applies',
  method: 'GET',
  paths: ['/admin/tls-rules'],
  access: 'operator',
  status: 200,
  response: envelope(
    z.object({
      rules: z
        .array(z.object({ domain: z.string(), level }).meta({ id: 'TlsRule' }))
        .meta({ description: 'by domain' }),
    }),
  ),
  errors: [],
  handle: async ({ db }) => {
    const rules = await listTlsRules(db)
    return { body: { success: true, message: `${countText(rules.length, 'rule')}.`, data: { rules } } }
  },
})

const set = route({
  name: 'admin-set-tls-rule',
  summary: 'Set the TLS level of a recipient domain, within seconds',
  method: 'PUT',
  paths: ['/admin/tls-rules/:domain'],
  access: 'operator',
  params,
  body: z.object({ level }).meta({ examples: [{ level: 'required' }] }),
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async ({ db }, { params: { domain }, body }) => {
    await setTlsRule(db, { domain, level: body.level })
    return { body: { success: true, message: `TLS with ${domain} is ${body.level}.` } }
  },
})

const unset = route({
  name: 'admin-unset-tls-rule',
  summary: 'Remove the TLS rule of a recipient domain',
  method: 'DELETE',
  paths: ['/admin/tls-rules/:domain'],
  access: 'operator',
  params,
  status: 200,
  response: plainResponse,
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async ({ db }, { params: { domain } }) =>
    (await removeTlsRule(db, domain))
      ? { body: { success: true, message: `The rule for ${domain} is removed.` } }
      : refuse('NOT_FOUND', 'There is no such rule. List them with admin-list-tls-rules.'),
})

export const ADMIN_TLS_RULE_ROUTES: readonly AnyRoute[] = [list, set, unset]
