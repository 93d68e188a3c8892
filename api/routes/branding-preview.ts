/** Shows the public pages and the confirmation mail with a branding that is not stored yet, with sample data. */
import { z } from 'zod'
import { lookOf, readBranding } from '#src/branding/branding.ts'
import { filled } from '#src/branding/texts.ts'
import { invalid } from '#src/platform/errors.ts'
import { confirmationContent } from '#src/subscribe/confirmation-mail.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type ApiResponse, type AnyRoute } from '#api/http/route.ts'
import { confirmPage, formPage, thanksPage, type FormView } from '#api/pages/subscribe.ts'
import { preferencesPage, unsubscribedPage, unsubscribePage } from '#api/pages/unsubscribe.ts'
import { ACCESS, changed, changeFields, language, problemsOf } from './branding.ts'

const SAMPLE = { email: 'anna@example.org', list: 'News' }
/** The pages that can be previewed, with sample data. */
const PAGES: Readonly<Record<string, (view: FormView) => ApiResponse>> = {
  subscribe: (view) => formPage(view, null),
  thanks: thanksPage,
  confirm: (view) => confirmPage(view, SAMPLE.email),
  unsubscribe: ({ look }) => unsubscribePage({ ...SAMPLE, preferences: 'sample' }, look),
  unsubscribed: ({ look }) => unsubscribedPage({ ...SAMPLE, preferences: 'sample' }, 'sample', look),
  preferences: ({ look }) => {
    const person = { workspaceId: '', contactId: '', email: SAMPLE.email, isOptedOut: false, language: null }
    return preferencesPage({ person, lists: [{ audienceId: '', name: SAMPLE.list, isSubscribed: true }] }, false, look)
  },
}
const PREVIEWS: [string, ...string[]] = ['mail', ...Object.keys(PAGES)]

const preview = route({
  name: 'preview-branding',
  summary: 'Show a public page or the confirmation mail with a branding, without storing it',
  method: 'POST',
  paths: ['/public/workspace/branding/preview'],
  access: ACCESS,
  body: z
    .object({
      ...changeFields,
      page: z.enum(PREVIEWS).meta({ description: 'the page; `mail`: the mail that asks for a confirmation' }),
      language: language.optional().meta({ description: 'by default the default language' }),
    })
    .meta({ examples: [{ page: 'subscribe', language: 'de', accent_color: '#7a1f3d' }] }),
  status: 200,
  response: envelope(
    z.object({
      language: z.string().meta({ description: 'the language that was used' }),
      subject: z.string().nullable().meta({ description: 'of the mail; null for a page' }),
      html: z.string().meta({ description: 'show it in a frame with the attribute sandbox' }),
    }),
  ),
  errors: ['VALIDATION_ERROR'],
  handle: async (ctx, { caller: { workspaceId }, body }) => {
    const branding = changed(await readBranding(ctx.db, workspaceId), body)
    const problems = problemsOf(branding)
    if (problems.length > 0) return invalid(problems)
    const visitor = { contactLanguage: body.language ?? branding.defaultLanguage, accepted: undefined }
    const look = lookOf(ctx.config, workspaceId, branding, visitor)
    const form = { workspaceId, audienceId: '', name: SAMPLE.list, isDoubleOptIn: true }
    const shown = PAGES[body.page]?.({ form, look })
    const link = `${ctx.config.subscribeBaseUrl}/s/confirm/sample`
    const html = shown === undefined ? confirmationContent(look, SAMPLE.list, link).html : textOf(shown)
    const subject = shown === undefined ? filled(look.texts['mail.subject'], SAMPLE) : null
    return { body: { success: true, message: 'Preview made.', data: { language: look.language, subject, html } } }
  },
})

function textOf({ body }: ApiResponse): string {
  return typeof body === 'string' ? body : ''
}

export const BRANDING_PREVIEW_ROUTES: readonly AnyRoute[] = [preview]
