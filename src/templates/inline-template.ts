/** What somebody wrote in place of a stored template, such as a campaign's own body, made ready as a saved one is. */
import type { Queryable } from '#src/stores/db.ts'
import type { FinishResult, Written } from './compile-template.ts'
import { loadPartials } from './partial-store.ts'
import { guessPartials } from './partials.ts'
import type { Renderer } from './render.ts'

interface Means {
  readonly db: Queryable
  readonly renderer: Pick<Renderer, 'finish'>
}

export async function finishWritten(
  { db, renderer }: Means,
  workspaceId: string,
  written: Written,
): Promise<FinishResult> {
  const partials = await loadPartials(db, workspaceId, guessPartials(written.body, written.text))
  return renderer.finish(workspaceId, written, partials.bodies)
}
