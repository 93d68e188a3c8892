/**
 * Letters of campaigns and automations, written in a thread that can be killed: a template that hangs ends with its own mails only, and the
 * event loop, which has connections to serve, only hands over and takes back. The same order always makes the same octets.
 */
import { createRenderGuard } from '#src/templates/render-guard.ts'
import type { TemplateSource } from '#src/templates/template-source.ts'
import type { MessageRenderJob, MessageRenderResult } from './render-thread-job.ts'

export interface MessageRenderer {
  /** Those that are asked for in one moment travel together. Rejects only when writing is broken on our side. */
  render(source: TemplateSource, job: MessageRenderJob): Promise<MessageRenderResult>
  stop(): Promise<void>
}

const WORKER = new URL('./render-thread-worker.ts', import.meta.url)
/** Milliseconds of processor time for one letter. */
const LIMITS = { compile: 1000, render: 250, write: 2000 }

export function createMessageRenderer(): MessageRenderer {
  // one thread keeps far ahead of the senders; a second one costs 30 MB, and a batch for each costs more than a full one
  const guard = createRenderGuard<MessageRenderJob, MessageRenderResult>({ worker: WORKER, threads: 1, limits: LIMITS })
  return { render: (source, job) => guard.render(source, job), stop: () => guard.stop() }
}
