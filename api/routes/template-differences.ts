/**
 * The difference between two versions of a template, with either kind of key. The work on large texts is bounded
 * (src/templates/version-diff.ts).
 */
import { z } from 'zod'
import { refuse } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { countText } from '#src/platform/plural.ts'
import { diffVersions, PART_NAMES } from '#src/templates/version-diff.ts'
import { findAuthoredVersion } from '#src/templates/version-list.ts'
import { envelope } from '#api/http/response-schemas.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { templatePaths } from './templates.ts'

const NO_VERSION = refuse('NOT_FOUND', 'There is no such version. List them with list-template-versions.')
const MAX_VERSION = 999_999_999
const count = z.int().min(0)
const versionNumber = z.coerce.number().int('must be a whole number').min(1).max(MAX_VERSION)

const changeSchema = z.object({
  part: z.enum(PART_NAMES).meta({ description: 'the part of the template that differs' }),
  added: count.meta({ description: 'lines of the newer text that the older one lacks' }),
  removed: count.meta({ description: 'lines of the older text that the newer one lacks' }),
  hunks: z
    .array(
      z.object({
        old_start: count.meta({ description: 'the line of the older text at which it begins' }),
        new_start: count.meta({ description: 'the line of the newer text at which it begins' }),
        lines: z.array(z.string()).meta({
          description: 'each with its sign: a space for a line of both, `-` for a removed and `+` for an added one',
        }),
      }),
    )
    .meta({ description: 'the differences with up to three lines around each, as in a unified diff' }),
})

const compare = route({
  name: 'compare-template-versions',
  summary: 'Compare a version of a template with an earlier one, part by part',
  method: 'GET',
  paths: templatePaths('/:id/versions/:version/diff'),
  access: 'any',
  params: z.object({ id: z.string(), version: z.string() }),
  query: z.object({
    from: versionNumber.optional().meta({ description: 'the version to compare with. By default the one before' }),
  }),
  status: 200,
  response: envelope(
    z.object({
      template_id: z.uuid(),
      from: z.int().meta({ description: 'the older version' }),
      to: z.int().meta({ description: 'the newer version' }),
      changes: z.array(changeSchema).meta({ description: 'the parts that differ; none: the versions are equal' }),
    }),
  ),
  errors: ['NOT_FOUND', 'VALIDATION_ERROR'],
  handle: async ({ db }, { caller: { workspaceId }, params: { id, version }, query }) => {
    if (!isUuid(id)) return NO_VERSION
    const to = /^[1-9]\d{0,8}$/.test(version) ? Number(version) : 0
    const from = query.from ?? Math.max(1, to - 1)
    const older = await findAuthoredVersion(db, workspaceId, id, from)
    const newer = await findAuthoredVersion(db, workspaceId, id, to)
    if (older === null || newer === null) return NO_VERSION
    const changes = diffVersions(older, newer).map(({ hunks, ...change }) => ({
      ...change,
      hunks: hunks.map(({ oldStart, newStart, lines }) => ({ old_start: oldStart, new_start: newStart, lines })),
    }))
    const message = changes.length === 0 ? 'The versions are equal.' : `${countText(changes.length, 'part')} differ.`
    return { body: { success: true, message, data: { template_id: newer.id, from, to, changes } } }
  },
})

export const TEMPLATE_DIFFERENCE_ROUTES: readonly AnyRoute[] = [compare]
