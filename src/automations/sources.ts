/** Can the mails that steps write themselves be rendered? Those of templates were judged when the template was saved. */
import type { Detail } from '#src/errors.ts'
import { isHtml } from '#src/mail/html-signs.ts'
import type { Renderer } from '#src/templates/render.ts'
import { placedSteps, type Step } from './steps.ts'

/** A detail for each that cannot. */
export async function judgeSources(renderer: Pick<Renderer, 'check'>, steps: readonly Step[]): Promise<Detail[]> {
  const found = await Promise.all(placedSteps(steps).map(async ({ step, path }): Promise<Detail[]> => {
    if (step.type !== 'send_email') return []
    const body = step.body ?? ''
    const checked = await renderer.check({ subject: step.subject ?? '', ...(isHtml(body) ? { html: body, text: null } : { html: null, text: body }) })
    return checked.ok ? [] : [{ path: `${path}.${step.body === null ? 'subject' : 'body'}`, message: checked.reason }]
  }))
  return found.flat()
}
