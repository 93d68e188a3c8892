/**
 * Renders the messages of campaigns and automations in a thread that can be killed: a template that hangs fails its
 * own messages only, and the event loop, which serves connections, only passes data. The same job always gives the
 * same octets.
 */
import { createRenderGuard } from '#src/templates/render-guard.ts'
import type { TemplateSource } from '#src/templates/template-source.ts'
import type { MessageRenderJob, MessageRenderResult } from './render-thread-job.ts'

export interface MessageRenderer {
  /** Concurrent calls share a batch. Rejects only for an internal error. */
  render(source: TemplateSource, job: MessageRenderJob): Promise<MessageRenderResult>
  stop(): Promise<void>
}

const WORKER = new URL('./render-thread-worker.ts', import.meta.url)
/** Milliseconds of processor time for one message. */
const LIMITS = { compile: 1000, render: 250, write: 2000 }

export function createMessageRenderer(): MessageRenderer {
  // one thread is much faster than the senders; a second one costs 30 MB, and two half batches cost more than a full
  // one
  const guard = createRenderGuard<MessageRenderJob, MessageRenderResult>({ worker: WORKER, threads: 1, limits: LIMITS })
  return { render: (source, job) => guard.render(source, job), stop: () => guard.stop() }
}
