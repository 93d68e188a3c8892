/**
 * Compiles a template that is written inline, such as the body of a campaign, the way a stored template is compiled.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { CompileResult, AuthoredTemplate } from './compile-template.ts'
import { loadPartials } from './partial-store.ts'
import { findPartialNames } from './partials.ts'
import type { Renderer } from './renderer.ts'

interface InlineTemplateDeps {
  readonly db: Queryable
  readonly renderer: Pick<Renderer, 'compile'>
}

export async function compileInlineTemplate(
  { db, renderer }: InlineTemplateDeps,
  workspaceId: string,
  authored: AuthoredTemplate,
): Promise<CompileResult> {
  const partials = await loadPartials(db, workspaceId, findPartialNames(authored.body, authored.text))
  return renderer.compile(workspaceId, authored, partials.bodies)
}
