/**
 * The branding of the public pages of a workspace: colours with enough contrast, texts by language, and a logo. Texts
 * are escaped where they are shown; colours are `#rrggbb`; a logo is a small bitmap, never SVG. The logo is served from
 * the origin of hosted mail, under an address that changes with its content.
 */
import { z } from 'zod'
import {
  findLogo,
  languagesOf,
  logoUrl,
  readBranding,
  storeBranding,
  storeLogo,
  type Branding,
} from '#src/branding/branding.ts'
import { contrastOf, LEAST_CONTRAST } from '#src/branding/contrast.ts'
import { MAX_LOGO_BYTES, readLogo } from '#src/branding/logo.ts'
import { CATALOGUE, TEXT_KEYS, textsIn } from '#src/branding/texts.ts'
import { type Detail, invalid, refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import type { ApiContext } from '#api/http/context.ts'
import { envelope, plainResponse } from '#api/http/response-schemas.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'

export const ACCESS = { admin: 'audiences:manage' } as const
const PATHS = ['/public/workspace/branding', '/workspace/branding'] as const
const MAX_TEXT = 500
const MAX_LANGUAGES = 20
const BACKGROUND = '#ffffff'
const TEXT = '#1b1b1b'

const colour = z
  .string()
  .toLowerCase()
  .regex(/^#[0-9a-f]{6}$/, 'must be a colour such as #1a4480')
  .nullish()
export const language = z.string().regex(/^[a-z]{2}$/, 'must be two letters, such as de')
const text = z
  .string()
  .min(1, 'is empty')
  .max(MAX_TEXT, `at most ${MAX_TEXT} characters`)
  .refine((value) => !/\p{Cc}/u.test(value), 'has control characters')
const textsField = z
  .record(language, z.partialRecord(z.enum(TEXT_KEYS), text))
  .refine((texts) => Object.keys(texts).length <= MAX_LANGUAGES, `at most ${MAX_LANGUAGES} languages`)
export const changeFields = {
  accent_color: colour.meta({ description: 'of buttons and links; null: the default' }),
  background_color: colour.meta({ description: 'of the page; null: the default, with a dark mode' }),
  text_color: colour.meta({ description: 'of the text; null: the default' }),
  default_language: language
    .optional()
    .meta({ description: 'if neither the contact nor the browser names one of them' }),
  texts: textsField.optional().meta({
    description: 'replaces all texts of the workspace: by language, then by key. `{list}` and `{email}` are filled in',
  }),
  logo_alt: text.nullish().meta({ description: 'what the logo shows, for people who do not see it' }),
}
const changeBody = z.object(changeFields)
type Change = z.output<typeof changeBody>

const brandingSchema = z
  .object({
    accent_color: z.string().nullable().meta({ description: 'of buttons and links; null: the default' }),
    background_color: z.string().nullable().meta({ description: 'of the page; null: the default, with a dark mode' }),
    text_color: z.string().nullable().meta({ description: 'of the text; null: the default' }),
    default_language: z.string().meta({ description: 'if neither the contact nor the browser names one of them' }),
    languages: z.array(z.string()).meta({ description: 'the languages that the pages have' }),
    texts: z.record(z.string(), z.record(z.string(), z.string())).meta({ description: 'the texts of the workspace' }),
    catalogue: z.record(z.string(), z.string()).meta({ description: 'all texts in the default language, by key' }),
    defaults: z
      .record(z.string(), z.record(z.string(), z.string()))
      .meta({ description: 'what the pages say without texts of the workspace, by language and key' }),
    logo_url: z.string().nullable().meta({ description: 'the address of the logo; null: none' }),
    logo_alt: z.string().nullable().meta({ description: 'what the logo shows, for people who do not see it' }),
  })
  .meta({ id: 'Branding' })
const brandingResponse = envelope(brandingSchema)

async function respond(ctx: ApiContext, workspaceId: string, message: string): Promise<ApiResponse> {
  const branding = await readBranding(ctx.db, workspaceId)
  const { accentColor, backgroundColor, textColor, defaultLanguage, texts, logoDigest, logoAlt } = branding
  const data = {
    accent_color: accentColor,
    background_color: backgroundColor,
    text_color: textColor,
    default_language: defaultLanguage,
    languages: languagesOf(branding),
    texts,
    catalogue: textsIn(defaultLanguage, texts, defaultLanguage),
    defaults: CATALOGUE,
    logo_url: logoDigest === null ? null : logoUrl(ctx.config, workspaceId, logoDigest),
    logo_alt: logoAlt,
  }
  return { body: { success: true, message, data } }
}

export function changed(branding: Branding, change: Change): Branding {
  const given = <T>(value: T | undefined, stored: T): T => (value === undefined ? stored : value)
  return {
    ...branding,
    accentColor: given(change.accent_color, branding.accentColor),
    backgroundColor: given(change.background_color, branding.backgroundColor),
    textColor: given(change.text_color, branding.textColor),
    defaultLanguage: change.default_language ?? branding.defaultLanguage,
    texts: change.texts ?? branding.texts,
    logoAlt: given(change.logo_alt, branding.logoAlt),
  }
}

/** What people could not read, or could not be shown. */
export function problemsOf(branding: Branding): Detail[] {
  const { accentColor, backgroundColor, textColor, defaultLanguage } = branding
  const background = backgroundColor ?? BACKGROUND
  const pairs = [
    ['text_color', textColor ?? TEXT, background],
    ['accent_color', accentColor ?? '#1a4480', background],
  ] as const
  const unreadable = pairs.flatMap(([path, one, other]) => {
    const contrast = contrastOf(one, other)
    if (contrast >= LEAST_CONTRAST) return []
    const found = `has a contrast of ${contrast.toFixed(1)} to the background ${other}`
    return [
      { path, message: `${found}; text needs ${LEAST_CONTRAST} (WCAG 2.2, AA): choose a darker or lighter colour` },
    ]
  })
  const isKnown = languagesOf(branding).includes(defaultLanguage)
  return [...unreadable, ...(isKnown ? [] : [{ path: 'default_language', message: 'has no texts: add them' }])]
}

const get = route({
  name: 'get-branding',
  summary: 'Get the branding of the public pages of the workspace',
  method: 'GET',
  paths: PATHS,
  access: ACCESS,
  status: 200,
  response: brandingResponse,
  errors: [],
  handle: (ctx, { caller }) => respond(ctx, caller.workspaceId, 'Branding found.'),
})

const change = route({
  name: 'change-branding',
  summary: 'Change colours and texts of the public pages; omitted fields are not changed',
  method: 'PATCH',
  paths: PATHS,
  access: ACCESS,
  body: changeBody.meta({ examples: [{ accent_color: '#7a1f3d', texts: { en: { 'subscribe.button': 'Join' } } }] }),
  status: 200,
  response: brandingResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    const branding = changed(await readBranding(ctx.db, workspaceId), body)
    const problems = problemsOf(branding)
    if (problems.length > 0) return invalid(problems)
    await storeBranding(ctx.db, workspaceId, branding)
    return respond(ctx, workspaceId, 'Branding changed. It applies to pages from now on.')
  },
})

/** The smallest GIF image. */
const EXAMPLE_LOGO = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

const setLogo = route({
  name: 'set-logo',
  summary: 'Store the logo of the public pages',
  method: 'PUT',
  paths: ['/public/workspace/branding/logo'],
  access: ACCESS,
  body: z
    .object({
      content_base64: z
        .base64('must be base64')
        .max(Math.ceil(MAX_LOGO_BYTES / 3) * 4, `must be at most ${MAX_LOGO_BYTES / 1024} KB`)
        .meta({ description: 'a PNG, JPEG or GIF image, up to 200 KB and 2000 by 1000 pixels; SVG is not accepted' }),
    })
    .meta({ examples: [{ content_base64: EXAMPLE_LOGO }] }),
  status: 200,
  response: brandingResponse,
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    const content = Buffer.from(body.content_base64, 'base64')
    const read = readLogo(content)
    if (read.kind === 'refused') return invalid([{ path: 'content_base64', message: read.reason }])
    await storeLogo(ctx.db, workspaceId, { content, type: read.type })
    return respond(ctx, workspaceId, 'Logo stored.')
  },
})

const deleteLogo = route({
  name: 'delete-logo',
  summary: 'Delete the logo of the public pages',
  method: 'DELETE',
  paths: ['/public/workspace/branding/logo'],
  access: ACCESS,
  status: 200,
  response: plainResponse,
  errors: [],
  handle: async (ctx, { caller: { workspaceId } }) => {
    await storeLogo(ctx.db, workspaceId, null)
    return { body: { success: true, message: 'Logo deleted.' } }
  },
})

const logo = route({
  name: 'logo',
  summary: 'The logo of a workspace, as its pages and mails show it',
  method: 'GET',
  paths: ['/v/logos/:workspace/:digest'],
  atRoot: true,
  access: 'public',
  params: z.object({
    workspace: z.string().meta({ description: 'the id of the workspace' }),
    digest: z.string().meta({ description: 'a digest of the image' }),
  }),
  status: 200,
  produces: ['image/png', 'image/jpeg', 'image/gif'],
  errors: ['NOT_FOUND'],
  handle: async (ctx, { params: { workspace, digest } }) => {
    const found = isUuid(workspace) ? await findLogo(ctx.db, workspace.toLowerCase(), digest) : null
    if (found === null) return refuse('NOT_FOUND', 'There is no such logo. Get its present address with get-branding.')
    const headers = {
      'Cache-Control': 'public, max-age=31536000, immutable',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    }
    return { body: found.content, type: found.type, headers }
  },
})

export const BRANDING_ROUTES: readonly AnyRoute[] = [get, change, setLogo, deleteLogo, logo]
