/**
 * The api process: builds the world, mounts the table of routes, listens. It starts while PostgreSQL or Redis is away (alive, not
 * ready) and needs no restart when they return. Stopping finishes the requests under way, then gives everything back in reverse order.
 */
import { loadOAuthProviders } from '#config/oauth-providers.ts'
import { loadPlans } from '#config/plans.ts'
import type { Config } from '#config/load.ts'
import { createKeyring } from '#src/auth/keys.ts'
import { systemClock } from '#src/clock.ts'
import { createFinder } from '#src/contacts/find.ts'
import type { Context } from '#src/context.ts'
import { openDb } from '#src/db.ts'
import { createAttempts } from '#src/limits/attempts.ts'
import { createEventWatch } from '#src/events/watch.ts'
import { createRequestRate } from '#src/limits/request-rate.ts'
import { openLog } from '#src/log.ts'
import { createAcceptor } from '#src/messages/accept.ts'
import { openOperatorToken } from '#src/operator/token.ts'
import { openRedis } from '#src/redis.ts'
import { createRenderer } from '#src/templates/render.ts'
import { createTrackingDoor } from '#src/tracking/door.ts'
import { loadMasterKey, openVault } from '#src/vault.ts'
import { createAudiencePages } from './audience-pages.ts'
import type { ApiContext } from './context.ts'
import { createHitAnswers } from './hit-answers.ts'
import { createLargeBodies } from './large-bodies.ts'
import { createMailView } from './mail-view.ts'
import { createMetrics } from './metrics.ts'
import { mount } from './mount.ts'
import { listen, type HttpServer } from './server.ts'
import { ROUTES } from './table.ts'

/** Orchestrators give 30 s before they kill. */
const GRACE_MS = 25_000

export interface ApiProcess {
  /** The one we listen on, also when HTTP_PORT is 0. */
  readonly port: number
  stop(): Promise<void>
}

/** @throws when a setting is missing or wrong, or the port cannot be had. */
export async function main(config: Config): Promise<ApiProcess> {
  if (config.databaseUrl === null || config.redisUrl === null)
    throw new Error('the api needs DATABASE_URL and REDIS_URL; `mailstead start` brings its own')
  const log = openLog(config, 'api')
  const plans = loadPlans(config.plansFile)
  const vault = openVault(loadMasterKey(config))
  const db = openDb(config.databaseUrl, log)
  const redis = openRedis(config.redisUrl, log)
  const ctx = assemble({ config, db, redis, clock: systemClock, log, vault }, plans, config.redisUrl)
  const app = mount(ctx, ROUTES).callback()
  const takeHit = createHitAnswers(ctx)
  const close = async (): Promise<void> => {
    await Promise.all([ctx.acceptor.drain(), ctx.tracking.drain()])
    await Promise.allSettled([ctx.keyring.stop(), ctx.renderer.stop(), ctx.largeBodies.stop(), ctx.rate.stop()])
    ctx.eventWatch.stop()
    await ctx.metrics.stop()
    redis.disconnect()
    await db.close()
  }
  const stop = async (server: HttpServer): Promise<void> => {
    ctx.eventWatch.stop() // who waits for events is answered now
    await server.stop(GRACE_MS)
    await close()
  }
  try {
    const server = await listen(
      (req, res) => void (takeHit(req, res) || app(req, res)),
      config.httpPort,
      config.httpHost,
    )
    log.info({ port: server.port }, 'the api listens')
    return { port: server.port, stop: () => stop(server) }
  } catch (error) {
    await close()
    throw error
  }
}

function assemble(base: Context, plans: ApiContext['plans'], redisUrl: string): ApiContext {
  const acceptor = createAcceptor(base)
  const tracking = createTrackingDoor(base)
  const metrics = createMetrics(base, acceptor.batches, tracking)
  const renderer = createRenderer()
  return {
    ...base,
    plans,
    oauthProviders: loadOAuthProviders(base.config.oauthProvidersFile),
    acceptor,
    metrics,
    keyring: createKeyring(base),
    operatorToken: openOperatorToken(base),
    renderer,
    tracking,
    mailView: createMailView(base, renderer),
    rate: createRequestRate(base.redis, base.clock),
    attempts: createAttempts(base.redis, base.clock),
    contacts: createFinder(base.db),
    largeBodies: createLargeBodies(base.log),
    eventWatch: createEventWatch(redisUrl, base.log),
    audiencePages: createAudiencePages(base),
  }
}
