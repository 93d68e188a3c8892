/**
 * Warnings about names in a template that are probably misspelt attributes of contacts. The template is saved anyway:
 * the attribute may arrive with the next import. A bare name may also be a param of the sender, so it is reported only
 * if contacts have an attribute with nearly the same name.
 */
import { describeUnknown, findUnknownAttributes } from '#src/contacts/attribute-names.ts'
import type { Db } from '#src/stores/db.ts'
import type { AttributeUses } from './attribute-uses.ts'

/** Sentences for the author. `declared` are the names that the template's sample data declares. */
export async function findAttributeWarnings(
  db: Db,
  workspaceId: string,
  { explicit, bare }: AttributeUses,
  declared: readonly string[],
): Promise<string[]> {
  const undeclared = bare.filter((name) => !declared.includes(name))
  const unknown = await findUnknownAttributes(db, workspaceId, [...explicit, ...undeclared])
  return unknown
    .filter(({ name, nearest }) => nearest !== null || explicit.includes(name))
    .map((attribute) => describeUnknown(attribute))
}
