/** Refuses a request that compiles templates while its workspace has used up its compile time (compile-budget.ts). */
import { rateLimited, type Refusal } from '#src/platform/errors.ts'
import type { ApiContext } from './context.ts'

/** Null: the workspace may compile. */
export function limitCompiling({ renderer }: Pick<ApiContext, 'renderer'>, workspaceId: string): Refusal | null {
  const seconds = renderer.compileWait(workspaceId)
  if (seconds === null) return null
  const message =
    'The templates of this workspace needed too much time to compile. ' +
    `Wait ${seconds} s; split the largest MJML template, or send it as HTML.`
  return rateLimited('client_rate', message, seconds)
}
