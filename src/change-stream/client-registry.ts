/**
 * The clients of a process by workspace, each workspace with the position up to which its clients know the changes.
 * Clients with the same topics get the same bytes, encoded once. Heartbeats are spread over their interval, so that
 * thousands of clients are not written to at once.
 */
import type { TopicChanges } from './change-reader.ts'
import { type ChangePosition, writePosition } from './position.ts'
import type { StreamClient } from './stream-client.ts'
import { changeFrames, encodeFrame, frameOf, type EncodedFrame } from './stream-frames.ts'
import type { ChangeTopic } from './topics.ts'

export const HEARTBEAT_MS = 15_000
const BUCKETS = 30
/** How often one bucket gets its heartbeats. */
export const HEARTBEAT_TICK_MS = HEARTBEAT_MS / BUCKETS

export interface WorkspaceClients {
  /** Its clients know the events up to here. */
  since: ChangePosition
  readonly clients: Set<StreamClient>
}

export class ClientRegistry {
  readonly workspaces = new Map<string, WorkspaceClients>()
  readonly credentials = new Map<string, Set<StreamClient>>()
  readonly #buckets: readonly Set<StreamClient>[] = Array.from({ length: BUCKETS }, () => new Set())
  #added = 0
  #tick = 0

  get isEmpty(): boolean {
    return this.workspaces.size === 0
  }

  /** The clients of a workspace begin at `now` if there are none yet. */
  add(client: StreamClient, now: ChangePosition): WorkspaceClients {
    const { workspaceId, credential } = client
    const workspace = this.workspaces.get(workspaceId) ?? { since: now, clients: new Set() }
    this.workspaces.set(workspaceId, workspace)
    workspace.clients.add(client)
    this.credentials.set(credential, (this.credentials.get(credential) ?? new Set()).add(client))
    this.#buckets[this.#added++ % BUCKETS]?.add(client)
    return workspace
  }

  remove(client: StreamClient): void {
    const { workspaceId, credential } = client
    const [ofWorkspace, ofCredential] = [this.workspaces.get(workspaceId), this.credentials.get(credential)]
    ofWorkspace?.clients.delete(client)
    if (ofWorkspace?.clients.size === 0) this.workspaces.delete(workspaceId)
    ofCredential?.delete(client)
    if (ofCredential?.size === 0) this.credentials.delete(credential)
    for (const bucket of this.#buckets) bucket.delete(client)
  }

  /** Those that have a client of the topic. */
  withTopic(topic: ChangeTopic): string[] {
    return [...this.workspaces].flatMap(([id, { clients }]) =>
      [...clients].some(({ topics }) => topics.has(topic)) ? [id] : [],
    )
  }

  /** Sends changes to the clients of their workspaces. */
  publish(changes: readonly TopicChanges[]): void {
    for (const [workspaceId, ofWorkspace] of Map.groupBy(changes, (one) => one.workspaceId)) {
      const workspace = this.workspaces.get(workspaceId)
      if (workspace !== undefined) publishTo(workspace, ofWorkspace)
    }
  }

  /** Tells all clients to read everything again, and sets their position. */
  reset(reason: string, position: ChangePosition): void {
    for (const workspace of this.workspaces.values()) {
      workspace.since = position
      const frame = encodeFrame(frameOf('reset', { reason }, writePosition(position)))
      for (const client of workspace.clients) client.send(frame)
    }
  }

  /** Sends the heartbeats that are due. */
  beat(): void {
    const beats = new Map<ChangePosition, EncodedFrame>()
    for (const client of this.#buckets[this.#tick++ % BUCKETS] ?? []) {
      const since = this.workspaces.get(client.workspaceId)?.since
      if (since === undefined) continue
      if (performance.now() > client.endsAt) client.end(heartbeatOf(since))
      else {
        const beat = beats.get(since) ?? encodeFrame(heartbeatOf(since))
        beats.set(since, beat)
        client.send(beat)
      }
    }
  }
}

function heartbeatOf(since: ChangePosition): string {
  const complete_until = new Date(since.atMs).toISOString()
  return frameOf('heartbeat', { complete_until }, writePosition(since))
}

function publishTo({ since, clients }: WorkspaceClients, changes: readonly TopicChanges[]): void {
  const id = writePosition(since)
  const frames = new Map<string, EncodedFrame | null>()
  for (const client of clients) {
    const { topicKey, topics } = client
    let frame = frames.get(topicKey)
    if (frame === undefined) {
      const selected = changes.filter(({ topic }) => topics.has(topic))
      frame = selected.length === 0 ? null : encodeFrame(changeFrames(selected, id))
      frames.set(topicKey, frame)
    }
    if (frame !== null) client.send(frame)
  }
}
