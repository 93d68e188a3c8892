/**
 * The BIMI record of a sending domain: its owner sets the URLs of the logo and of the mark certificate, and the domain
 * then lists the record. Setting them makes a check due at once; its findings are in `bimi` of the domain. Two requests
 * at once: the last one counts.
 */
import { z } from 'zod'
import { setBimiFiles } from '#src/domains/bimi-files.ts'
import { readBrandUrl } from '#src/domains/bimi-record.ts'
import { invalid, type Detail } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route } from '#api/http/route.ts'
import { domainSchema, NO_DOMAIN, presentDomain } from './domain-view.ts'

const urlField = (description: string): z.ZodType<string | null | undefined> =>
  z.string().max(1000, 'is too long').nullish().meta({ description })

export const setBimi = route({
  name: 'set-bimi',
  summary: 'Set the logo and the mark certificate of the BIMI record of a sending domain',
  method: 'POST',
  paths: ['/public/domains/set-bimi/:id'],
  access: { admin: 'domains:manage' },
  params: z.object({ id: z.string() }),
  body: z.object({
    logo_url: urlField('https URL of the logo, an SVG Tiny PS file; null or absent: no BIMI record'),
    certificate_url: urlField('https URL of the mark certificate (VMC or CMC) in PEM; null or absent: none'),
  }),
  status: 200,
  response: envelope(domainSchema).meta({ id: 'DomainAnswer' }),
  errors: ['VALIDATION_ERROR', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    const problems: Detail[] = []
    const read = (path: 'logo_url' | 'certificate_url'): string | null => {
      const text = body[path] ?? ''
      if (text === '') return null
      const url = readBrandUrl(text)
      if (!url.ok) problems.push({ path, message: url.reason })
      return url.ok ? url.url : null
    }
    const [logoUrl, certificateUrl] = [read('logo_url'), read('certificate_url')]
    if (problems.length > 0) return invalid(problems)
    if (logoUrl === null && certificateUrl !== null)
      return invalid([{ path: 'logo_url', message: 'is required with certificate_url' }])
    const files = logoUrl === null ? null : { logoUrl, certificateUrl }
    const domain = isUuid(params.id) ? await setBimiFiles(ctx, caller.workspaceId, params.id, files) : null
    if (domain === null) return NO_DOMAIN
    const message =
      files === null ? 'No BIMI record is proposed any more.' : 'Publish the BIMI record. It is being checked.'
    return { body: { success: true, message, data: presentDomain(domain, ctx.config) } }
  },
})
