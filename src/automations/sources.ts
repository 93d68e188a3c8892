/** Can the mails that steps write themselves be rendered? Those of templates were judged when the template was saved. */
import type { Detail } from '#src/errors.ts'
import { isHtml } from '#src/mail/html-signs.ts'
import type { Renderer } from '#src/templates/render.ts'
import { placedSteps, type Step } from './steps.ts'

/** A detail for each that cannot. */
export async function judgeSources(renderer: Pick<Renderer, 'finish'>, steps: readonly Step[]): Promise<Detail[]> {
  const found = await Promise.all(placedSteps(steps).map(async ({ step, path }): Promise<Detail[]> => {
    if (step.type !== 'send_email') return []
    const body = step.body ?? ''
    // it is sent as it was written
    const finished = await renderer.finish({ subject: step.subject ?? '', body, text: null, format: isHtml(body) ? 'html' : 'text' }, {})
    return finished.ok ? [] : [{ path: `${path}.${step.body === null ? 'subject' : 'body'}`, message: finished.reason }]
  }))
  return found.flat()
}
