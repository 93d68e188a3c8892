/**
 * Pages of a workspace's audiences, as the text of their answer. Equal pages that are asked for at the same time are read and written out
 * once. A question always goes with the next reading, never with one that is under way: no answer is older than its question.
 */
import { z } from 'zod'
import { createBatcher } from '#src/concurrency/batcher.ts'
import { listAudiences, type Audience, type AudienceListing } from '#src/contacts/audiences.ts'
import type { Context } from '#src/context.ts'
import { pageData } from '#api/http/paging.ts'
import { enveloped, moment, pageOf } from '#api/http/answer-shapes.ts'

/** Resolves with the JSON of the answer. */
export type AudiencePages = (workspaceId: string, wanted: AudienceListing) => Promise<string>

interface Question {
  readonly key: string
  readonly workspaceId: string
  readonly wanted: AudienceListing
}

type Base = Pick<Context, 'db' | 'config'>

export function createAudiencePages(base: Base): AudiencePages {
  const batcher = createBatcher((questions: Question[]) => answerAll(base, questions), { max: 500, lanes: 2 })
  return (workspaceId, wanted) => {
    const { page, limit, sort, direction } = wanted
    return batcher.add({ key: `${workspaceId} ${page} ${limit} ${sort} ${direction}`, workspaceId, wanted })
  }
}

/** Each different question once. */
async function answerAll(base: Base, questions: readonly Question[]): Promise<string[]> {
  const different = [...new Map(questions.map((question) => [question.key, question])).values()]
  const answers = new Map(
    await Promise.all(different.map(async (question) => [question.key, await answer(base, question)] as const)),
  )
  return questions.map(({ key }) => answers.get(key) ?? '')
}

async function answer({ db, config }: Base, { workspaceId, wanted }: Question): Promise<string> {
  const { audiences, total } = await listAudiences(db, workspaceId, wanted)
  const data = pageData(
    'audiences',
    { items: audiences.map((audience) => presentAudience(config, audience)), total },
    wanted,
  )
  return JSON.stringify({ success: true, message: `${total} audiences.`, data })
}

const count = z.int().min(0)
const audience = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    contactCount: count,
    contact_count: count,
    subscribeUrl: z.url().meta({ description: 'the public signup form' }),
    double_opt_in: z.boolean().meta({ description: 'who subscribes by the form confirms by a link in a mail' }),
    createdAt: moment,
    created_at: moment,
    updatedAt: moment,
    updated_at: moment,
  })
  .meta({ id: 'Audience' })

export const audienceAnswer = enveloped(audience).meta({ id: 'AudienceAnswer' })
export const audiencesAnswer = pageOf('audiences', audience)

/** The superset of both variants of the specification. */
export function presentAudience(
  { subscribeBaseUrl }: Pick<Context['config'], 'subscribeBaseUrl'>,
  found: Audience,
): z.output<typeof audience> {
  const [createdAt, updatedAt] = [found.createdAt.toISOString(), found.updatedAt.toISOString()]
  return {
    id: found.id,
    name: found.name,
    description: found.description,
    contactCount: found.contactCount,
    contact_count: found.contactCount,
    subscribeUrl: `${subscribeBaseUrl}/s/${found.subscribeToken}`,
    double_opt_in: found.isDoubleOptIn,
    createdAt,
    created_at: createdAt,
    updatedAt,
    updated_at: updatedAt,
  }
}
