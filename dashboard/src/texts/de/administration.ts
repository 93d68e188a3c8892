import { administration as english } from '#dashboard/src/texts/en/administration.ts'
export const administration = english
