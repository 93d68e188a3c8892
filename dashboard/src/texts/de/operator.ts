import { operator as english } from '#dashboard/src/texts/en/operator.ts'
export const operator = english
