SELECT
  COUNT(*) AS `value`
FROM (
  SELECT
    `t0`.`subject_id`
  FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
) AS `t1`;

SELECT
  COUNT(*) AS `value`
FROM (
  SELECT
    `t0`.`subject_id`
  FROM `mimiciv_hosp`.`procedures_icd` AS `t0`
) AS `t1`;

SELECT
  `t5`.`kind`,
  `t5`.`version`,
  `t5`.`code`,
  COUNT(*) AS `entries`
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t0`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t0`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'diagnosis' AS `kind`,
        CAST(`t0`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t0`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CASE WHEN CAST(`t0`.`seq_num` AS INT64) = 1 THEN 1 ELSE CAST(NULL AS INT64) END AS `principal`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
    ) AS `t2`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'procedure' AS `kind`,
        CAST(`t1`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CAST(NULL AS INT64) AS `principal`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t1`
    ) AS `t3`
  ) AS `t4`
  WHERE
    `t4`.`stay` IS NOT NULL AND `t4`.`code` IS NOT NULL AND `t4`.`kind` IS NOT NULL
) AS `t5`
GROUP BY
  1,
  2,
  3;

SELECT
  `t8`.`file`,
  `t8`.`field`,
  `t8`.`reason`,
  COUNT(*) AS `entries`
FROM (
  SELECT
    `t7`.`file`,
    `t7`.`line`,
    `t7`.`field`,
    `t7`.`stay`,
    `t7`.`patient`,
    `t7`.`kind`,
    `t7`.`position`,
    `t7`.`code`,
    `t7`.`version`,
    `t7`.`principal`,
    `t3`.`code_id`,
    `t3`.`correction`,
    CASE
      WHEN `t7`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t7`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t7`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t7`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'diagnosis' AS `kind`,
        CAST(`t1`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CASE WHEN CAST(`t1`.`seq_num` AS INT64) = 1 THEN 1 ELSE CAST(NULL AS INT64) END AS `principal`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t1`
    ) AS `t4`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t2`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t2`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'procedure' AS `kind`,
        CAST(`t2`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CAST(NULL AS INT64) AS `principal`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t2`
    ) AS `t5`
  ) AS `t7`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t7`.`kind` = `t3`.`kind`
    AND `t7`.`version` = `t3`.`version`
    AND `t7`.`code` = `t3`.`code`
) AS `t8`
GROUP BY
  1,
  2,
  3;

SELECT
  `t8`.`file`,
  `t8`.`line`,
  `t8`.`reason`,
  `t8`.`field` AS `column`,
  SUBSTRING(`t8`.`code`, IF((
    0 + 1
  ) >= 1, 0 + 1, 0 + 1 + LENGTH(`t8`.`code`)), 40) AS `detail`
FROM (
  SELECT
    `t7`.`file`,
    `t7`.`line`,
    `t7`.`field`,
    `t7`.`stay`,
    `t7`.`patient`,
    `t7`.`kind`,
    `t7`.`position`,
    `t7`.`code`,
    `t7`.`version`,
    `t7`.`principal`,
    `t3`.`code_id`,
    `t3`.`correction`,
    CASE
      WHEN `t7`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t7`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t7`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t7`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'diagnosis' AS `kind`,
        CAST(`t1`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CASE WHEN CAST(`t1`.`seq_num` AS INT64) = 1 THEN 1 ELSE CAST(NULL AS INT64) END AS `principal`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t1`
    ) AS `t4`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t2`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t2`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'procedure' AS `kind`,
        CAST(`t2`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CAST(NULL AS INT64) AS `principal`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t2`
    ) AS `t5`
  ) AS `t7`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t7`.`kind` = `t3`.`kind`
    AND `t7`.`version` = `t3`.`version`
    AND `t7`.`code` = `t3`.`code`
) AS `t8`
WHERE
  `t8`.`reason` IS NOT NULL
ORDER BY
  CASE
    WHEN `t8`.`file` = 'diagnoses_icd'
    THEN 0
    WHEN `t8`.`file` = 'procedures_icd'
    THEN 1
    ELSE 2
  END ASC NULLS LAST,
  `t8`.`line` ASC NULLS LAST,
  CASE WHEN `t8`.`field` = 'icd_code' THEN 0 ELSE 1 END ASC NULLS LAST,
  CASE WHEN `t8`.`reason` = 'not_a_code' THEN 0 ELSE 1 END ASC NULLS LAST,
  SUBSTRING(`t8`.`code`, IF((
    0 + 1
  ) >= 1, 0 + 1, 0 + 1 + LENGTH(`t8`.`code`)), 40) ASC NULLS LAST;

WITH `t16` AS (
  SELECT
    `t15`.`file`,
    `t15`.`line`,
    `t15`.`field`,
    `t15`.`stay`,
    `t15`.`patient`,
    `t15`.`kind`,
    `t15`.`position`,
    `t15`.`code`,
    `t15`.`version`,
    `t15`.`principal`,
    `t5`.`code_id`,
    `t5`.`correction`,
    CASE
      WHEN `t15`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t15`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t15`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t15`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t5`.`verdict`, '')
    END AS `reason`
  FROM (
    SELECT
      *
    FROM (
      SELECT
        'diagnoses_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t2`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t2`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'diagnosis' AS `kind`,
        CAST(`t2`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t2`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t2`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CASE WHEN CAST(`t2`.`seq_num` AS INT64) = 1 THEN 1 ELSE CAST(NULL AS INT64) END AS `principal`
      FROM `mimiciv_hosp`.`diagnoses_icd` AS `t2`
    ) AS `t12`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        'procedures_icd' AS `file`,
        CAST(NULL AS INT64) AS `line`,
        'icd_code' AS `field`,
        NULLIF(CAST(CAST(`t3`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
        NULLIF(CAST(CAST(`t3`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
        'procedure' AS `kind`,
        CAST(`t3`.`seq_num` AS INT64) AS `position`,
        NULLIF(
          REGEXP_REPLACE(`t3`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
          ''
        ) AS `code`,
        CASE
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t3`.`icd_version` AS INT64) AS STRING), '')),
            '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 9
          WHEN REGEXP_CONTAINS(
            LOWER(NULLIF(CAST(CAST(`t3`.`icd_version` AS INT64) AS STRING), '')),
            '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
          )
          THEN 10
          ELSE -1
        END AS `version`,
        CAST(NULL AS INT64) AS `principal`
      FROM `mimiciv_hosp`.`procedures_icd` AS `t3`
    ) AS `t13`
  ) AS `t15`
  LEFT OUTER JOIN `verdicts` AS `t5`
    ON `t15`.`kind` = `t5`.`kind`
    AND `t15`.`version` = `t5`.`version`
    AND `t15`.`code` = `t5`.`code`
), `t22` AS (
  SELECT
    `t20`.`stay`,
    `t20`.`kind`,
    `t20`.`code_id`,
    MIN(`t20`.`position`) AS `position`,
    MIN(`t20`.`line`) AS `line`,
    MIN(`t20`.`patient`) AS `patient`,
    MAX(`t20`.`patient`) AS `other_patient`
  FROM (
    SELECT
      *
    FROM `t16` AS `t17`
    WHERE
      `t17`.`reason` IS NULL
  ) AS `t20`
  GROUP BY
    1,
    2,
    3
)
SELECT
  *
FROM (
  SELECT
    `t40`.`stay`,
    `t40`.`patient`,
    `t40`.`other_patient`,
    `t40`.`diagnoses`,
    `t40`.`procedures`,
    `t29`.`principal_low`,
    `t29`.`principal_high`,
    `t26`.`age`,
    `t26`.`sex`,
    `t26`.`admission`
  FROM (
    SELECT
      `t38`.`stay`,
      `t38`.`patient`,
      `t38`.`other_patient`,
      `t38`.`diagnoses`,
      `t38`.`procedures`
    FROM (
      SELECT
        `t37`.`stay`,
        MIN(`t37`.`patient`) AS `patient`,
        MAX(`t37`.`other_patient`) AS `other_patient`,
        ARRAY_AGG(IF(`t37`.`kind` = 'diagnosis', `t37`.`placed`, NULL) IGNORE NULLS) AS `diagnoses`,
        ARRAY_AGG(IF(`t37`.`kind` = 'procedure', `t37`.`placed`, NULL) IGNORE NULLS) AS `procedures`,
        COUNTIF(`t37`.`kind` = 'diagnosis') AS `diagnosis_count`,
        COUNTIF(`t37`.`kind` = 'procedure') AS `procedure_count`
      FROM (
        SELECT
          `t36`.`stay`,
          `t36`.`kind`,
          `t36`.`code_id`,
          `t36`.`position`,
          `t36`.`line`,
          `t36`.`patient`,
          `t36`.`other_patient`,
          (
            (
              ROW_NUMBER() OVER (
                PARTITION BY `t36`.`stay`, `t36`.`kind`
                ORDER BY COALESCE(`t36`.`position`, 4611686018427387904) ASC, COALESCE(`t36`.`line`, 0) ASC, `t36`.`code_id` ASC
              ) - 1
            ) * 4294967296
          ) + `t36`.`code_id` AS `placed`
        FROM (
          SELECT
            `t24`.`stay`,
            `t24`.`kind`,
            `t24`.`code_id`,
            `t24`.`position`,
            `t24`.`line`,
            `t24`.`patient`,
            `t24`.`other_patient`
          FROM `t22` AS `t24`
          INNER JOIN (
            SELECT
              `t27`.`stay`
            FROM (
              SELECT
                `t23`.`stay`,
                COUNT(DISTINCT `t23`.`kind`) AS `kinds`
              FROM `t22` AS `t23`
              GROUP BY
                1
            ) AS `t27`
            WHERE
              `t27`.`kinds` = 2
          ) AS `t31`
            ON `t24`.`stay` = `t31`.`stay`
          INNER JOIN (
            SELECT
              `t33`.`code_id`
            FROM (
              SELECT
                `t32`.`code_id`,
                COUNT(*) AS `stays`
              FROM (
                SELECT
                  `t24`.`stay`,
                  `t24`.`kind`,
                  `t24`.`code_id`,
                  `t24`.`position`,
                  `t24`.`line`,
                  `t24`.`patient`,
                  `t24`.`other_patient`
                FROM `t22` AS `t24`
                INNER JOIN (
                  SELECT
                    `t27`.`stay`
                  FROM (
                    SELECT
                      `t23`.`stay`,
                      COUNT(DISTINCT `t23`.`kind`) AS `kinds`
                    FROM `t22` AS `t23`
                    GROUP BY
                      1
                  ) AS `t27`
                  WHERE
                    `t27`.`kinds` = 2
                ) AS `t31`
                  ON `t24`.`stay` = `t31`.`stay`
              ) AS `t32`
              GROUP BY
                1
            ) AS `t33`
            WHERE
              `t33`.`stays` >= 1
          ) AS `t35`
            ON `t24`.`code_id` = `t35`.`code_id`
        ) AS `t36`
      ) AS `t37`
      GROUP BY
        1
    ) AS `t38`
    WHERE
      `t38`.`diagnosis_count` > 0 AND `t38`.`procedure_count` > 0
  ) AS `t40`
  LEFT OUTER JOIN (
    SELECT
      `t19`.`stay`,
      MIN(
        (
          CAST(`t19`.`principal` AS INT64) * 4294967296
        ) + IF(`t19`.`reason` IS NULL, `t19`.`code_id` + 1, 0)
      ) AS `principal_low`,
      MIN(
        (
          (
            (
              CAST(`t19`.`principal` AS INT64) * 4294967296
            ) + 4294967296
          ) - 1
        ) - IF(`t19`.`reason` IS NULL, `t19`.`code_id` + 1, 0)
      ) AS `principal_high`
    FROM (
      SELECT
        *
      FROM `t16` AS `t17`
      WHERE
        `t17`.`principal` IS NOT NULL AND `t17`.`kind` = 'diagnosis'
    ) AS `t19`
    GROUP BY
      1
  ) AS `t29`
    ON `t40`.`stay` = `t29`.`stay`
  LEFT OUTER JOIN (
    SELECT
      `t21`.`stay`,
      CASE
        WHEN `t21`.`age_min` = `t21`.`age_max`
        THEN `t21`.`age_min`
        ELSE CAST(NULL AS INT64)
      END AS `age`,
      CASE
        WHEN `t21`.`sex_min` = `t21`.`sex_max`
        THEN `t21`.`sex_min`
        ELSE CAST(NULL AS STRING)
      END AS `sex`,
      CASE
        WHEN `t21`.`admission_min` = `t21`.`admission_max`
        THEN `t21`.`admission_min`
        ELSE CAST(NULL AS STRING)
      END AS `admission`
    FROM (
      SELECT
        `t18`.`stay`,
        MIN(`t18`.`age`) AS `age_min`,
        MAX(`t18`.`age`) AS `age_max`,
        MIN(`t18`.`sex`) AS `sex_min`,
        MAX(`t18`.`sex`) AS `sex_max`,
        MIN(`t18`.`admission`) AS `admission_min`,
        MAX(`t18`.`admission`) AS `admission_max`
      FROM (
        SELECT
          NULLIF(CAST(`t8`.`hadm_id` AS STRING), '') AS `stay`,
          CASE
            WHEN (
              `t11`.`anchor_age` + CAST(FLOOR(
                ieee_divide(
                  CASE
                    WHEN REGEXP_CONTAINS(
                      REGEXP_REPLACE(
                        NULLIF(
                          REGEXP_REPLACE(`t8`.`admittime`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                          ''
                        ),
                        '[ T].*$|-',
                        ''
                      ),
                      '^[0-9]{8}$'
                    )
                    THEN CAST(REGEXP_REPLACE(
                      NULLIF(
                        REGEXP_REPLACE(`t8`.`admittime`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                        ''
                      ),
                      '[ T].*$|-',
                      ''
                    ) AS INT64)
                    ELSE CAST(NULL AS INT64)
                  END,
                  10000
                )
              ) AS INT64)
            ) - `t11`.`anchor_year` BETWEEN 0 AND 91
            THEN CAST((
              `t11`.`anchor_age` + CAST(FLOOR(
                ieee_divide(
                  CASE
                    WHEN REGEXP_CONTAINS(
                      REGEXP_REPLACE(
                        NULLIF(
                          REGEXP_REPLACE(`t8`.`admittime`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                          ''
                        ),
                        '[ T].*$|-',
                        ''
                      ),
                      '^[0-9]{8}$'
                    )
                    THEN CAST(REGEXP_REPLACE(
                      NULLIF(
                        REGEXP_REPLACE(`t8`.`admittime`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                        ''
                      ),
                      '[ T].*$|-',
                      ''
                    ) AS INT64)
                    ELSE CAST(NULL AS INT64)
                  END,
                  10000
                )
              ) AS INT64)
            ) - `t11`.`anchor_year` AS INT64)
            WHEN (
              (
                `t11`.`anchor_age` + CAST(FLOOR(
                  ieee_divide(
                    CASE
                      WHEN REGEXP_CONTAINS(
                        REGEXP_REPLACE(
                          NULLIF(
                            REGEXP_REPLACE(`t8`.`admittime`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                            ''
                          ),
                          '[ T].*$|-',
                          ''
                        ),
                        '^[0-9]{8}$'
                      )
                      THEN CAST(REGEXP_REPLACE(
                        NULLIF(
                          REGEXP_REPLACE(`t8`.`admittime`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                          ''
                        ),
                        '[ T].*$|-',
                        ''
                      ) AS INT64)
                      ELSE CAST(NULL AS INT64)
                    END,
                    10000
                  )
                ) AS INT64)
              ) - `t11`.`anchor_year`
            ) > 91
            THEN 91
            ELSE CAST(NULL AS INT64)
          END AS `age`,
          CASE
            WHEN LOWER(
              NULLIF(
                REGEXP_REPLACE(`t11`.`gender`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ) IN ('f', 'female', '8532')
            THEN 'F'
            WHEN LOWER(
              NULLIF(
                REGEXP_REPLACE(`t11`.`gender`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
                ''
              )
            ) IN ('m', 'male', '8507')
            THEN 'M'
            ELSE CAST(NULL AS STRING)
          END AS `sex`,
          NULLIF(
            REGEXP_REPLACE(`t8`.`admission_type`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
            ''
          ) AS `admission`
        FROM (
          SELECT
            CAST(NULL AS INT64) AS `line`,
            CAST(`t0`.`hadm_id` AS INT64) AS `hadm_id`,
            CAST(`t0`.`subject_id` AS INT64) AS `subject_id`,
            `t0`.`admission_type`,
            CAST(`t0`.`admittime` AS STRING) AS `admittime`
          FROM `mimiciv_hosp`.`admissions` AS `t0`
        ) AS `t8`
        LEFT OUTER JOIN (
          SELECT
            `t9`.`subject_id` AS `person`,
            `t9`.`gender`,
            `t9`.`anchor_age`,
            `t9`.`anchor_year`
          FROM (
            SELECT
              `t7`.*
              EXCEPT (`line`)
            FROM (
              SELECT
                CAST(NULL AS INT64) AS `line`,
                CAST(`t4`.`subject_id` AS INT64) AS `subject_id`,
                `t4`.`gender`,
                CAST(`t4`.`anchor_age` AS INT64) AS `anchor_age`,
                CAST(`t4`.`anchor_year` AS INT64) AS `anchor_year`
              FROM `mimiciv_hosp`.`patients` AS `t4`
            ) AS `t7`
          ) AS `t9`
        ) AS `t11`
          ON NULLIF(CAST(`t8`.`subject_id` AS STRING), '') = NULLIF(CAST(`t11`.`person` AS STRING), '')
      ) AS `t18`
      GROUP BY
        1
    ) AS `t21`
  ) AS `t26`
    ON `t40`.`stay` = `t26`.`stay`
) AS `t41`
ORDER BY
  LENGTH(`t41`.`stay`) ASC NULLS LAST,
  `t41`.`stay` ASC NULLS LAST;

WITH `t6` AS (
  SELECT
    *
  FROM (
    SELECT
      'diagnoses_icd' AS `file`,
      CAST(NULL AS INT64) AS `line`,
      'icd_code' AS `field`,
      NULLIF(CAST(CAST(`t0`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
      NULLIF(CAST(CAST(`t0`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
      'diagnosis' AS `kind`,
      CAST(`t0`.`seq_num` AS INT64) AS `position`,
      NULLIF(
        REGEXP_REPLACE(`t0`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `code`,
      CASE
        WHEN REGEXP_CONTAINS(
          LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
          '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
        )
        THEN 9
        WHEN REGEXP_CONTAINS(
          LOWER(NULLIF(CAST(CAST(`t0`.`icd_version` AS INT64) AS STRING), '')),
          '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
        )
        THEN 10
        ELSE -1
      END AS `version`,
      CASE WHEN CAST(`t0`.`seq_num` AS INT64) = 1 THEN 1 ELSE CAST(NULL AS INT64) END AS `principal`
    FROM `mimiciv_hosp`.`diagnoses_icd` AS `t0`
  ) AS `t4`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      'procedures_icd' AS `file`,
      CAST(NULL AS INT64) AS `line`,
      'icd_code' AS `field`,
      NULLIF(CAST(CAST(`t1`.`hadm_id` AS INT64) AS STRING), '') AS `stay`,
      NULLIF(CAST(CAST(`t1`.`subject_id` AS INT64) AS STRING), '') AS `patient`,
      'procedure' AS `kind`,
      CAST(`t1`.`seq_num` AS INT64) AS `position`,
      NULLIF(
        REGEXP_REPLACE(`t1`.`icd_code`, '^[ \\t\\n\\r\\f\\x0b]+|[ \\t\\n\\r\\f\\x0b]+$', ''),
        ''
      ) AS `code`,
      CASE
        WHEN REGEXP_CONTAINS(
          LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
          '^(0?9(\\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$'
        )
        THEN 9
        WHEN REGEXP_CONTAINS(
          LOWER(NULLIF(CAST(CAST(`t1`.`icd_version` AS INT64) AS STRING), '')),
          '^(10(\\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$'
        )
        THEN 10
        ELSE -1
      END AS `version`,
      CAST(NULL AS INT64) AS `principal`
    FROM `mimiciv_hosp`.`procedures_icd` AS `t1`
  ) AS `t5`
), `t11` AS (
  SELECT
    `t8`.`file`,
    `t8`.`line`,
    `t8`.`field`,
    `t8`.`stay`,
    `t8`.`patient`,
    `t8`.`kind`,
    `t8`.`position`,
    `t8`.`code`,
    `t8`.`version`,
    `t8`.`principal`,
    `t3`.`code_id`,
    `t3`.`correction`,
    CASE
      WHEN `t8`.`stay` IS NULL
      THEN 'missing_stay'
      WHEN `t8`.`code` IS NULL
      THEN 'missing_code'
      WHEN `t8`.`kind` IS NULL
      THEN 'missing_kind'
      WHEN `t8`.`version` IS NULL
      THEN 'not_icd'
      ELSE NULLIF(`t3`.`verdict`, '')
    END AS `reason`
  FROM `t6` AS `t8`
  LEFT OUTER JOIN `verdicts` AS `t3`
    ON `t8`.`kind` = `t3`.`kind`
    AND `t8`.`version` = `t3`.`version`
    AND `t8`.`code` = `t3`.`code`
), `t14` AS (
  SELECT
    *
  FROM `t11` AS `t12`
  WHERE
    `t12`.`reason` IS NULL
), `t17` AS (
  SELECT
    COUNT(*) AS `number`
  FROM `t14` AS `t15`
), `t19` AS (
  SELECT
    `t15`.`stay`,
    `t15`.`kind`,
    `t15`.`code_id`,
    MIN(`t15`.`position`) AS `position`,
    MIN(`t15`.`line`) AS `line`,
    MIN(`t15`.`patient`) AS `patient`,
    MAX(`t15`.`patient`) AS `other_patient`
  FROM `t14` AS `t15`
  GROUP BY
    1,
    2,
    3
), `t32` AS (
  SELECT
    `t23`.`stay`,
    `t23`.`kind`,
    `t23`.`code_id`,
    `t23`.`position`,
    `t23`.`line`,
    `t23`.`patient`,
    `t23`.`other_patient`
  FROM `t19` AS `t23`
  INNER JOIN (
    SELECT
      `t26`.`stay`
    FROM (
      SELECT
        `t20`.`stay`,
        COUNT(DISTINCT `t20`.`kind`) AS `kinds`
      FROM `t19` AS `t20`
      GROUP BY
        1
    ) AS `t26`
    WHERE
      `t26`.`kinds` = 2
  ) AS `t31`
    ON `t23`.`stay` = `t31`.`stay`
)
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t9`.`number`,
        0 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t6` AS `t7`
      ) AS `t9`
    ) AS `t10`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t18`.`number`,
        1 AS `place`
      FROM `t17` AS `t18`
    ) AS `t21`
  ) AS `t24`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t18`.`number`,
        2 AS `place`
      FROM `t17` AS `t18`
    ) AS `t22`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t25`.`number`,
        3 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t19` AS `t20`
      ) AS `t25`
    ) AS `t27`
  ) AS `t28`
) AS `t29`
UNION ALL
SELECT
  *
FROM (
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t34`.`number`,
        4 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM `t32` AS `t33`
      ) AS `t34`
    ) AS `t37`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t43`.`number`,
        5 AS `place`
      FROM (
        SELECT
          COUNT(*) AS `number`
        FROM (
          SELECT
            `t23`.`stay`,
            `t23`.`kind`,
            `t23`.`code_id`,
            `t23`.`position`,
            `t23`.`line`,
            `t23`.`patient`,
            `t23`.`other_patient`
          FROM `t19` AS `t23`
          INNER JOIN (
            SELECT
              `t26`.`stay`
            FROM (
              SELECT
                `t20`.`stay`,
                COUNT(DISTINCT `t20`.`kind`) AS `kinds`
              FROM `t19` AS `t20`
              GROUP BY
                1
            ) AS `t26`
            WHERE
              `t26`.`kinds` = 2
          ) AS `t31`
            ON `t23`.`stay` = `t31`.`stay`
          INNER JOIN (
            SELECT
              `t35`.`code_id`
            FROM (
              SELECT
                `t33`.`code_id`,
                COUNT(*) AS `stays`
              FROM `t32` AS `t33`
              GROUP BY
                1
            ) AS `t35`
            WHERE
              `t35`.`stays` >= 1
          ) AS `t41`
            ON `t23`.`code_id` = `t41`.`code_id`
        ) AS `t42`
      ) AS `t43`
    ) AS `t44`
  ) AS `t45`
  UNION ALL
  SELECT
    *
  FROM (
    SELECT
      *
    FROM (
      SELECT
        `t13`.`number`,
        6 AS `place`
      FROM (
        SELECT
          COUNT(DISTINCT `t12`.`stay`) AS `number`
        FROM `t11` AS `t12`
      ) AS `t13`
    ) AS `t16`
    UNION ALL
    SELECT
      *
    FROM (
      SELECT
        `t36`.`number`,
        7 AS `place`
      FROM (
        SELECT
          COUNT(DISTINCT `t33`.`stay`) AS `number`
        FROM `t32` AS `t33`
      ) AS `t36`
    ) AS `t38`
  ) AS `t40`
) AS `t46`;
